"""Words of a statement that change, bound, deny or only accompany its value. Tables only."""

from __future__ import annotations

import re

from assay.verifiers.extract.found import words

# --- around a whole statement ---------------------------------------------------------------------------
DOUBT = re.compile(
    r"""\b(?:maybe|perhaps|possibly|probably|presumably|supposedly|unsure|uncertain|hypothetically|might|guesstimate
        |not\ (?:entirely\ |quite\ |so\ |really\ )?(?:sure|certain|clear|known|enough\ information|possible\ to)
        |(?:don't|do\ not|doesn't|does\ not|didn't|cannot|can't|can\ not|unable\ to|couldn't
        |could\ not)\ (?:\w+\ ){0,2}?
         (?:know|tell|say|think|believe|determine|solve|compute|calculate|answer|figure|decide|recall|remember)
        |(?:cannot|can't|could\ not|couldn't)\ be\ (?:\w+\ )?(?:determined|found|solved|computed|calculated|known
        |answered)
        |no\ idea|no\ clue|impossible\ to|i\ guess|i'm\ guessing|guessing|guess\ is|a\ guess|guess:|wild\ guess
        |(?:most|very|quite|rather)\ likely|likely\ (?:to\ be|that|the)|(?:is|be|are)\ likely|unlikely
        |just\ kidding|kidding|never\ mind|nevermind|oops|scratch\ that|typo|i\ give\ up|stuck|unclear|unknown
        |(?:not|isn't|is\ not)\ (?:true|the\ case|correct|right)|false\ (?:that|to)|(?:would|is|be)\ (?:wrong
        |incorrect|false)\ to
        |(?:wrong|incorrect|untrue|mistaken)\ (?:that|answer|to)|no\ way|doubt
        |(?:question|problem|prompt|text|exercise|puzzle)\ (?:\w+\ )?(?:mentions?|says?|states?|asks?|gives?|told
        |tells?)
        |(?:we|i)\ (?:are|were|am|was)\ (?:given|told|asked)
        |vielleicht|wahrscheinlich|möglicherweise|peut-être|probablement|quizás?|probablemente|forse|talvez
    )\b""",
    re.X,
)
WIDE_DOUBT = ("不是", "或者", "也许", "可能", "大概", "不能", "无法", "不知道", "不确定", "求", "≠")
TAKEN_BACK = re.compile(
    r"(?:^|[,;:.(—–-]\s*)(?:no\s+)?(?:wait|no|actually|correction|rather|sorry|hmm|hold on)\s*[,:.—-]"
)
_MATH_VERBS = "find|compute|simplify|calculate|evaluate|determine|solve|prove|show|express|check|verify|factor|expand"
POSED = re.compile(
    rf"""^(?:so|now|then|next|first|finally|thus|hence|and|,|\s|please|also)*(?:{_MATH_VERBS}|let|suppose|assume
        |assuming
        |consider|recall|note|notice|imagine|say|see)\b
    |\b(?:let's|let\ us|(?:we|i|you|one)\ (?:\w+\ )?(?:need\ to|want\ to|must|have\ to|should|try\ to
    |are\ going\ to|are\ trying\ to)
        |remains\ to|how\ to|asked\ to|is\ to|required\ to)\ (?:\w+\ )?(?:{_MATH_VERBS})\b
    |[,;]\ (?:let|suppose|assume)\b|^(?:what|how|which|when|where|who|why|is|are|does|do|did|whether)\b[^.]*\?""",
    re.X,
)

# --- before a value ---------------------------------------------------------------------------------------
_TAIL = r"(?:\s+(?:the|a|an|exactly|precisely|be|equal|equals|to|only|just|value|number|of|=|:))*\s*$"
BOUNDED = re.compile(
    r"(?:\b(?:at\s+(?:the\s+)?(?:least|most|best|worst|minimum|maximum)|no\s+(?:more|less|fewer|greater|smaller"
    r"|later)\s+than"
    r"|(?:more|less|fewer|greater|smaller|larger|higher|lower|bigger|other|different|rather|further|longer|shorter"
    r"|older"
    r"|younger|heavier|taller|later|earlier)\s+than|about|approximately|approx\.?|roughly|circa|nearly|almost"
    r"|exceed(?:s|ed|ing)?|below|above|under|beyond|up\s+to|as\s+(?:many|much|few|little|high|low)\s+as|close\s+to"
    r"|near"
    r"|upwards\s+of|somewhere|bounded\s+by|within|minimum:|maximum:|mindestens|höchstens|ungefähr|etwa|circa|environ"
    r"|au\s+moins|au\s+plus|aproximadamente|al\s+menos|como\s+máximo|about:)|[≈~<>])" + _TAIL
)
BOUNDED_OR_TIME = re.compile(r"\b(?:over|around|under|within|above|below|about|past)" + _TAIL)
"""With a length of time these begin an adjunct where another value is the answer (`over 30 days`)."""
ALTERED = re.compile(
    r"""\b(?:
        (?:roots?|square|cube|reciprocal|inverse|opposite|negation|negative|logarithm|log|ln|sines?|cos|cosine|tan
        |tangent
          |factorial|multiples?|divisors?|factors?|powers?|double|complement|triple|square\s+root|conjugate|modulus
          |percent(?:age)?|half|halves|third|thirds|quarters?|fourths?|fifths?|sixths?|eighths?|tenths?|%)\s+of
       |half|twice|thrice|double|doubled|triple|tripled|quadruple|times|log|ln|sin|cos|tan|all\s+but
       |any(?:thing)?\s+but
       |every(?:thing)?\s+but|no\s+longer|differs?\s+from|different\s+from|far\s+from|modulo|mod|plus|instead\s+of
       |except
       |except\s+for|excluding|without|off\s+by|power|divided\s+by|multiplied\s+by|raised\s+to|divisible\s+by|base
       |degree
       |or|nor|rejects?|excludes?|discards?|ignores?|eliminates?|rules?\s+out|versus|vs\.?|±|plus\s+or\s+minus
       |give\s+or\s+take|unless
    )"""
    + _TAIL,
    re.X,
)
DENIED = re.compile(
    r"(?:\b(?:not|never|cannot|neither|nor|hardly|scarcely|barely|rarely|no\s+longer|nicht|kein|keine|pas|nie)\b"
    r"|n't\b)"
    r"(?:(?!\b(?:is|are|was|were|equals|=)\b)[^,;:=])*$"
)
"""A negation whose verb takes the value: no other copula stands between them."""
DENIED_VERB = re.compile(r"(?:\b(?:not|cannot|never)|n't)(?: be able to| yet| ever| get to| have to)? [a-z]+\Z")
"""A negated verb whose object follows."""
SIGNED = re.compile(r"\b(?:minus|negative)(?:\s+(?:the|a|an))*\s*$")
LABELS = words(
    """
    problem question exercise step part page case figure fig equation chapter section theorem lemma example table
    corollary
    proposition no # item line method claim definition formula hint note appendix version eq eqn rule property
    axiom model
    scenario attempt problems questions steps cases equations no. number:
    """
)
LABELLING = words(
    """
    route highway room gate apartment flight grade class group team district box option choice chapter level
    """
)
"""With a number or a letter directly behind it, a label beside which another value is the answer."""

# --- behind a value ---------------------------------------------------------------------------------------
OPEN_ENDED = re.compile(
    r"^(?:\+|-?\s*ish\b|(?:,\s*)?(?:\w+\s+)?(?:or\s+(?:so|more|less|fewer|greater|higher|lower|above|below|over"
    r"|under|something|thereabouts|higher"
    r"|beyond|whatever|maybe|possibly|perhaps|another)|and\s+(?:up|above|over|beyond|more|counting)|at\s+(?:least"
    r"|most|best"
    r"|minimum|maximum)|give\s+or\s+take|more\s+or\s+less|approximately|approx|roughly|plus\s*$|or\s*$|environ"
    r"|maximum\s*$"
    r"|minimum\s*$|if\s+not\s+more|oder|ou\b|o\b)\b)"
)
ADDING_UP = re.compile(r"\b(?:add(?:s|ed|ing)?|sums?|comes?|amounts?|total(?:s|ed)?)\s+(?:it\s+)?up\s+to" + _TAIL)
"""No bound: `the parts add up to 5`."""
REJECTED = re.compile(
    r"^(?:fails?|failed|(?:is|are|was|were|does|do|did|can|could|would|will|must|should|has|have)\s+not\b|(?:is|are"
    r"|was|were"
    r"|does|do|did|ca|could|would|wo|must|should|has|have)n't\b|cannot\b|never\b|(?:is|are|was)\s+(?:excluded"
    r"|rejected"
    r"|out|ruled|no\b|neither|hardly|impossible|extraneous|invalid|wrong|incorrect|too)|gets?\s+(?:rejected|excluded)"
    r"|contradicts|violates|leads\s+to\s+a|works\s+not)"
)
REJECTED_ANYWHERE = re.compile(
    r"\b(?:is|are|was|were|be|seems?|looks?)\s+(?:\w+\s+)?(?:wrong|incorrect|false|impossible|invalid|extraneous"
    r"|excluded"
    r"|rejected|undefined|a\s+(?:mistake|typo)|ruled\s+out|too\s+(?:small|large|big|high|low|many|few|much|little))\b"
    r"|\b(?:not|n't)\s+(?:the\s+)?(?:answer|correct|right|valid|possible|work|satisfy|hold|allowed|a\s+solution"
    r"|count)\b"
    r"|\b(?:but|although|though)\s+(?:that's|that\s+is|this\s+is|it's|it\s+is|i'm|i\s+am)\s+(?:wrong|not|incorrect"
    r"|unsure|a\s+guess)"
)
RESCALED = re.compile(
    r"^(?:\w+\s+){0,3}?(?:\(?in\s+(?:the\s+)?(?:thousands?|millions?|billions?|hundreds?|dozens?|tens|base|binary"
    r"|octal|hex)"
    r"|base\s+\w+|mod(?:ulo)?\b|below\s+(?:zero|freezing)|under\s+zero|to\s+the\s+(?:power|\w+th\b)|raised\s+to"
    r"|tens\b|score\b|gross\b|squared\b|cubed\b|factorial\b|times\s+(?:ten|itself|\d)|and\s+(?:a|one|two|three)\s+"
    r"(?:half|third|thirds|quarter|quarters|fourth|fifth|sixth|eighth|tenth)|and\s+(?:some|change)\b|remainder\b"
    r"|half\b(?!-)|halves\b|hundredweight)"
)
FRACTION_WORDS = words(
    """
    halves thirds fourths fifths sixths sevenths eighths ninths tenths elevenths twelfths thirteenths fourteenths
    fifteenths
    sixteenths seventeenths eighteenths nineteenths twentieths thirtieths fortieths fiftieths sixtieths eightieths
    hundredths thousandths millionths billionths twenty-fifths thirty-seconds sixty-fourths tenth third fifth sixth
    seventh
    eighth ninth hundredth thousandth twelfth sixteenth
    """
)

# --- structure -----------------------------------------------------------------------------------------------
COPULAS = words(
    """
    is are was were be been being equals equal = becomes become became totals totaled comes amounts remains
    """
)
FINITE = COPULAS | words("has have had will would can could must should shall does do did")
DEFINITE = words(
    """
    all both these those every each any the his her their its our my your same other per of
    """
)
ALL = words("all both these those every each")
MODIFIERS = words(
    """
    a an the his her their its our my your this that these those all both each every another other last first next
    only exactly
    just total additional extra remaining full whole single entire same more about some any very typical regular new
    following previous past final second third fourth fifth grand combined average overall nearest
    """
)
PREPOSITIONS = words(
    """
    in after for over within during by from at on with without per than since until before through across into onto
    under
    above among against via throughout versus vs between around inside outside near behind beyond toward towards
    out off
    """
)
SUBORDINATING = words(
    """
    if whether when while because since although though unless until whereas where who whom whose which whenever
    once as that
    """
)
COMPLEMENT_VERBS = words(
    """
    find found finds means mean know conclude conclude see get have shows show follows follow so such obtain deduce
    implies
    imply tells tell is think believe fact note say says given, this get gives give yields found: ensures notice learn
    """
)
TOTALS = words(
    """
    total sum average mean amount profit cost value number price speed rate loss income distance difference
    maximum minimum
    """
)
SUMMARIES = TOTALS | words(
    """
    drop fall decrease reduction decline rise increase gain growth change saving savings discount raise gap
    improvement
    """
)
"""Nouns of an apposition that says what the values before it come to."""
CONCLUDING = words(
    """
    so thus hence therefore meaning leaving giving making totaling totalling yielding
    """
)
FRONTED = PREPOSITIONS | SUBORDINATING | words("given with to as assuming considering once every each on out")
ARITHMETIC = frozenset(
    (
        *(
            "plus",
            "minus",
            "times",
            "divided by",
            "multiplied by",
            "over",
            "mod",
            "modulo",
            "choose",
            "less",
            "x",
            "per",
        ),
        *("to the power of", "to the", "raised to", "raised to the", "added to", "subtracted from", "r", "remainder"),
        *("with remainder", "with a remainder of", "with remainder of", "with a remainder"),
    )
)
"""Words between two numbers that make one calculation of them."""
RANGES = frozenset(
    (
        *("to", "by", "through", "in", "out of", "versus", "vs", "against", "and a"),
        *("less than", "more than", "fewer than", "for every", "for each"),
    )
)
"""Words between two numbers that make one range, ratio or comparison of them."""
DIMENSIONS = (
    words("year month week day h min s ms"),
    words("mile yard foot inch"),
    words("km m dm cm mm"),
    words("pound ounce tonne"),
    words("kg g mg"),
    words("dollar cent"),
    words("euro cent"),
    words("GBP pence"),
    words("gallon quart pint cup"),
    words("L ml"),
    words("degree min s"),
)
TIMES = words(
    """
    year month week day h min s hour hours minutes minute seconds second days weeks months years semester decade
    decades century night nights session sessions shift shifts
    """
)
_COUNTED = """
zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen
nineteen twenty
"""
_TENS = "thirty forty fifty sixty seventy eighty ninety hundred"
NUMBER_WORDS = {word: value for value, word in enumerate(_COUNTED.split())}
NUMBER_WORDS |= {word: value for value, word in zip(range(30, 110, 10), _TENS.split(), strict=True)}
NUMBER_WORDS |= {"half": 2, "twice": 2, "double": 2, "triple": 3, "dozen": 12, "couple": 2, "pair": 2}
LEADING = words("so thus hence therefore then and now finally but also in total all the a an")
COULD_BE = re.compile(
    r"(?<!there )\b(?:could|can)\s+(?:also\s+)?(?:be|equal)\s+(?:either\s+)?(?:[$\\(-]|\d)|\beither\s+[$\\(-]?\d"
)
WIDE_BEFORE = re.compile(
    r"(?:约|至少|最多|超过|不到|不足|将近|接近|近|之|少于|多于|大于|小于|是否|不是|或者?|第|除了|不等于|不为)(?:是|为|有)?\s*$"
)
"""Behind one of these a number is a bound, a label or denied."""
WIDE_BEHIND = re.compile(r"^\s*(?:左右|以上|以下|以内|多|余|几|分之|成|折|或|不|的?倒数|的?平方|的?立方)")
CONJUNCTIONS = words("and or but while whereas though although nor yet so , ; :")
