"""The tables of the normaliser and the parser: policy is data.

Sources: TeX and amsmath (commands), Unicode (signs that equal a command), the contract's appendix
"math" (which of them carry no meaning). A command that is in no table is not read.
"""

from __future__ import annotations

from assay.verifiers.extract.found import words

# --- Unicode -----------------------------------------------------------------------------------
_PAIRS = {
    "−–—‒‐‑﹣－": "-",
    "×✕✖⨯": r"\times ",
    "·⋅∙•・": r"\cdot ",
    "÷": r"\div ",
    "⁄∕／": "/",
    "≤⩽≦": r"\le ",
    "≥⩾≧": r"\ge ",
    "≠": r"\ne ",
    "≈≃≅": r"\approx ",
    "≡": r"\equiv ",
    "±": r"\pm ",
    "∓": r"\mp ",
    "∪": r"\cup ",
    "∩": r"\cap ",
    "∖": r"\setminus ",
    "∈": r"\in ",
    "∉": r"\notin ",
    "∅⌀": r"\emptyset ",
    "∞": r"\infty ",
    "√": r"\usqrt ",
    "∛": r"\ucbrt ",
    "∠": r"\angle ",
    "△": r"\triangle ",
    "∑": r"\sum ",
    "∏": r"\prod ",
    "∫": r"\int ",
    "→": r"\to ",
    "⇒": r"\implies ",
    "…⋯": r"\ldots ",
    "⌊": r"\lfloor ",
    "⌋": r"\rfloor ",
    "⌈": r"\lceil ",
    "⌉": r"\rceil ",
    "⟨〈": r"\langle ",
    "⟩〉": r"\rangle ",
    "°º": r"^{\circ}",
    "℃": r"^{\circ}\text{C}",
    "℉": r"^{\circ}\text{F}",
    "∣｜": r"\mid ",
    "∥‖": r"\| ",
    "′’": "'",
    "″": "''",
    "％﹪": r"\%",
    "，、﹐": ",",
    "；": ";",
    "．。": ".",
    "：∶": ":",
    "（": "(",
    "）": ")",
    "【［": "[",
    "】］": "]",
    "｛": "{",
    "｝": "}",
    "＝": "=",
    "＜": "<",
    "＞": ">",
    "＋": "+",
    "＊": "*",
    "＄": "$",
    "ℝ": r"\mathbb{R}",
    "ℤ": r"\mathbb{Z}",
    "ℕ": r"\mathbb{N}",
    "ℚ": r"\mathbb{Q}",
    "ℂ": r"\mathbb{C}",
    "∧": r"\land ",
    "∨": r"\lor ",
    "ℓ": r"\ell ",
    "ⅈ": r"\mathrm{i}",
    "ⅇ": r"\mathrm{e}",
    "∂": r"\partial ",
    "“”": '"',
    "‘": "'",
    # Zero-width and direction marks are nothing; no-break and thin spaces are TeX's `\,`.
    "\u200b\u200c\u200d\u2060\ufeff\u200e\u200f\u00ad\u2061\u2062\u2063\u2064\ufe0f\u202a\u202c": "",
    "\u00a0\u202f\u2009\u200a\u2007\u2008\u2006": r"\,",
    "\u2002\u2003\u2004\u2005\u3000\u2028\u2029\t\r\n\v\f\x85": " ",
}
_FRACTIONS = {
    "½": "12", "⅓": "13", "⅔": "23", "¼": "14", "¾": "34", "⅕": "15", "⅖": "25", "⅗": "35", "⅘": "45",
    "⅙": "16", "⅚": "56", "⅐": "17", "⅛": "18", "⅜": "38", "⅝": "58", "⅞": "78", "⅑": "19",
}  # fmt: skip
_GREEK = {
    "α": "alpha", "β": "beta", "γ": "gamma", "δ": "delta", "ε": "epsilon", "ϵ": "epsilon", "ζ": "zeta",
    "η": "eta",
    "θ": "theta", "ϑ": "theta", "ι": "iota", "κ": "kappa", "λ": "lambda", "μ": "mu", "µ": "mu", "ν": "nu",
    "ξ": "xi",
    "π": "pi", "ρ": "rho", "σ": "sigma", "τ": "tau", "υ": "upsilon", "φ": "phi", "ϕ": "phi", "χ": "chi",
    "ψ": "psi",
    "ω": "omega", "Γ": "Gamma", "Δ": "Delta", "∆": "Delta", "Θ": "Theta", "Λ": "Lambda", "Ξ": "Xi", "Π": "Pi",
    "Σ": "Sigma", "Φ": "Phi", "Ψ": "Psi", "Ω": "Omega",
}  # fmt: skip
UNICODE: dict[int, str] = {ord(sign): text for signs, text in _PAIRS.items() for sign in signs}
UNICODE |= {ord(sign): rf"\frac{{{two[0]}}}{{{two[1:]}}}" for sign, two in _FRACTIONS.items()}
UNICODE |= {ord(sign): rf"\{name} " for sign, name in _GREEK.items()}
SUPERSCRIPTS = dict(zip("⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁽⁾ⁿⁱˣ", "0123456789+-()nix", strict=True))
SUBSCRIPTS = dict(zip("₀₁₂₃₄₅₆₇₈₉₊₋₍₎ₙₖᵢₓ", "0123456789+-()nkix", strict=True))

# --- commands without meaning --------------------------------------------------------------------
SPACING = words(
    r"""
    \, \! \; \: \> \/ \quad \qquad \enspace \enskip \thinspace \medspace \thickspace \negthinspace \space
    \nobreak \hfill \hfil \displaystyle \textstyle \scriptstyle \scriptscriptstyle \limits \nolimits \left
    \right \middle \big \Big \bigg \Bigg \bigl \Bigl \biggl \Biggl \bigr \Bigr \biggr \Biggr \bigm \Bigm
    \biggm \Biggm \rm \bf \it \sf \tt \cal \normalsize \large \Large \LARGE \huge \Huge \small \footnotesize
    \tiny \relax \noindent \allowbreak \bfseries \itshape \mathstrut \strut \centering \smallskip \medskip
    \bigskip \par \newline \break \nonumber \notag
    """
)
# Commands whose group stands for itself: `\mathbf{x}` is `x`.
TRANSPARENT = words(
    r"""
    \mathbf \boldsymbol \bm \pmb \mathit \mathcal \mathscr \mathfrak \mathsf \mathtt \mathnormal \underline
    \boxed \fbox \ensuremath \mathop \mathord \mathbin \mathrel \mathopen \mathclose \mathpunct \mathinner
    \smash \hbox \framebox
    """
)
# Commands that hold text: letters in them form words.
TEXTUAL = words(
    r"""
    \text \textbf \textit \textrm \textsf \texttt \textnormal \textmd \textup \textsc \textsl \emph \mbox
    \mathrm \operatorname \operatorname* \underline@ \textsuperscript
    """
)
# Commands of which the first argument is dropped: `\color{red}`, `\textcolor{red}{x}`, `\hspace{1cm}`.
ARGUMENT_DROPPED = words(
    r"\color \textcolor \colorbox \hspace \hspace* \vspace \phantom \hphantom \vphantom \tag \label"
)

# --- functions and constants ----------------------------------------------------------------------
_PLAIN_FUNCTIONS = words("sin cos tan cot sec csc sinh cosh tanh coth sech csch exp ln gcd lcm")
# Name as written -> head of the operation.
FUNCTIONS: dict[str, str] = {
    **{name: name for name in _PLAIN_FUNCTIONS},
    **{f"arc{name}": f"a{name}" for name in ("sin", "cos", "tan", "cot", "sec", "csc", "sinh", "cosh", "tanh")},
    **{f"a{name}": f"a{name}" for name in ("sin", "cos", "tan", "cot", "sec", "csc", "sinh", "cosh", "tanh")},
    **{f"ar{name}": f"a{name}" for name in ("sinh", "cosh", "tanh")},
    "arctg": "atan",
    "tg": "tan",
    "ctg": "cot",
    "cosec": "csc",
    "lg": "lg",
    "log": "log",
    "lb": "lb",
    "max": "max",
    "min": "min",
    "det": "det",
    "abs": "abs",
    "floor": "floor",
    "ceil": "ceil",
    "sqrt": "sqrt",
    "cbrt": "cbrt",
    "sgn": "sign",
    "sign": "sign",
    "erf": "erf",
    "Re": "re",
    "Im": "im",
    "factorial": "fact",
    "binom": "binom",
}
INVERSES = {
    "sin": "asin",
    "cos": "acos",
    "tan": "atan",
    "cot": "acot",
    "sec": "asec",
    "csc": "acsc",
    "sinh": "asinh",
    "cosh": "acosh",
    "tanh": "atanh",
}
ASCII_CONSTANTS = {
    "pi": "pi",
    "inf": "oo",
    "infinity": "oo",
    "infty": "oo",
    "oo": "oo",
    "Infinity": "oo",
    "Inf": "oo",
}
GREEK = frozenset(_GREEK.values()) - {"pi"} | {
    "varepsilon",
    "vartheta",
    "varphi",
    "ell",
    "hbar",
    "nabla",
    "varrho",
    "partial",
}
SAME_LETTER = {"varepsilon": "epsilon", "vartheta": "theta", "varphi": "phi", "varrho": "rho"}
ASCII_GREEK = words("alpha beta gamma delta epsilon theta lambda sigma omega phi rho tau zeta")
ACCENTS = {
    "vec": "vec",
    "overrightarrow": "vec",
    "overline": "bar",
    "bar": "bar",
    "hat": "hat",
    "widehat": "hat",
    "tilde": "tilde",
    "widetilde": "tilde",
    "dot": "dot",
    "ddot": "ddot",
    "overleftrightarrow": "line",
    "overarc": "arc",
    "wideparen": "arc",
    "stackrel": "",
    "check": "check",
}
NAMING = {
    "angle": "angle",
    "measuredangle": "angle",
    "triangle": "triangle",
    "odot": "odot",
    "square": "square",
}

# Command -> sign that the parser knows.
SIGNS: dict[str, str] = {
    r"\cdot": "*", r"\times": "*", r"\ast": "*", r"\bullet": "*", r"\div": "/", r"\pm": "pm", r"\mp": "mp",
    r"\le": "<=", r"\leq": "<=", r"\leqslant": "<=", r"\leqq": "<=", r"\ge": ">=", r"\geq": ">=",
    r"\geqslant": ">=", r"\geqq": ">=", r"\lt": "<", r"\gt": ">", r"\ne": "!=", r"\neq": "!=", r"\in": "in",
    r"\notin": "notin",
    r"\cup": "cup", r"\bigcup": "cup", r"\cap": "cap", r"\setminus": "setminus", r"\backslash": "setminus",
    r"\smallsetminus": "setminus", r"\approx": "approx", r"\simeq": "approx", r"\cong": "approx",
    r"\doteq": "approx",
    r"\equiv": "equiv", r"\sim": "approx", r"\to": "to", r"\rightarrow": "to", r"\implies": "to",
    r"\Rightarrow": "to", r"\Longrightarrow": "to", r"\mapsto": "to", r"\iff": "to", r"\Leftrightarrow": "to",
    r"\land": "and", r"\wedge": "and", r"\lor": "or", r"\vee": "or", r"\mid": "|", r"\vert": "|",
    r"\lvert": "|(",
    r"\rvert": "|)", r"\Vert": "||", r"\|": "||", r"\lVert": "||", r"\rVert": "||", r"\colon": ":",
    r"\vdots": "...",
    r"\ldots": "...", r"\dots": "...", r"\cdots": "...", r"\dotsc": "...", r"\dotsb": "...", r"\langle": "<(",
    r"\rangle": ")>", r"\lbrace": "{(", r"\rbrace": ")}", r"\{": "{(", r"\}": ")}", r"\lfloor": "floor(",
    r"\rfloor": "floor)", r"\lceil": "ceil(", r"\rceil": "ceil)", r"\lbrack": "[", r"\rbrack": "]",
    r"\lparen": "(",
    r"\rparen": ")", r"\prime": "'", r"\percent": "%", r"\%": "%", r"\&": "and", r"\#": "#", r"\_": "_",
    r"\colonequals": "=",
    r"\degree": "deg", r"\not": "not", r"\therefore": "", r"\because": "because", r"\perp": "perp",
    r"\parallel": "parallel",
    r"\star": "star", r"\oplus": "oplus", r"\otimes": "otimes", r"\circ": "circ", r"\choose": "choose",
    r"\over": "over",
    r"\atop": "atop", r"\bmod": "mod", r"\mod": "mod", r"\pmod": "pmod", r"\square": "square",
}  # fmt: skip
ASCII_SIGNS = {
    "**": "^",
    "<=": "<=",
    "=<": "<=",
    ">=": ">=",
    "!=": "!=",
    "==": "=",
    "=>": "to",
    "->": "to",
    "<>": "!=",
    "...": "...",
    "≤": "<=",
    "≥": ">=",
    ":=": "=",
}
RELATIONS = words("= < > <= >= != in notin approx equiv to")
OPENERS = {"(": ")", "[": "]", "{(": ")}", "<(": ")>"}

# --- words ------------------------------------------------------------------------------------------
JOINTS = {
    "and": "and",
    "or": "or",
    "或": "or",
    "或者": "or",
    "和": "and",
    "及": "and",
    "与": "and",
    "und": "and",
    "oder": "or",
    "AND": "and",
    "And": "and",
}
NUMBER_WORDS = {
    "hundred": 10**2, "thousand": 10**3, "million": 10**6, "billion": 10**9, "trillion": 10**12, "mil": 10**6,
    "bn": 10**9, "lakh": 10**5, "crore": 10**7, "quadrillion": 10**15, "quintillion": 10**18, "dozen": 12,
    "ten": 10, "tausend": 10**3, "dutzend": 12, "millionen": 10**6, "milliarde": 10**9, "milliarden": 10**9,
    "十": 10, "百": 100, "千": 1000, "万": 10**4, "十万": 10**5, "百万": 10**6, "千万": 10**7, "亿": 10**8,
    "十亿": 10**9, "百亿": 10**10, "千亿": 10**11,
}  # fmt: skip
PERCENT_WORDS = words("percent percents pct percentage prozent")


def multiplier(word: object) -> int:
    """What a number word after a number multiplies it by, in any case and in the plural; 0 for other words."""
    lower = str(word).lower()
    if lower == "ten":  # `5 ten` is no number; `5 tens` is 50
        return 0
    return NUMBER_WORDS.get(lower) or (NUMBER_WORDS.get(lower[:-1], 0) if lower.endswith("s") else 0)


BASE_WORDS = {
    word: value
    for value, word in enumerate(
        ("two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"), 2
    )
}
BASE_WORDS |= {"binary": 2, "octal": 8, "decimal": 10, "hexadecimal": 16, "hex": 16, "sixteen": 16}
ORDINALS = words("st nd rd th")
# Words that never stand in a unit or a count noun: with one of them the text is a statement or a hedge.
STATEMENT_WORDS = words(
    """
    not no nor neither either or and but guess guessing guessed likely unlikely unsure uncertain if else when
    where while then than more less fewer greater least most about approximately approx around roughly nearly
    almost over under between from to until plus minus times divided by is are was were be been equals equal
    isn't aren't cannot can't could might may maybe perhaps probably possibly would should unknown undefined
    wrong incorrect false except without mod modulo because since so hence thus therefore for which that this
    these those it its we i you he she they there here what who how any all every some none both only also
    instead rather at on with as into after before infinitely many several other another por pour
    """
)
FILLER_WORDS = words("the a an of")
# Words that change a number's value or kind: never a unit.
MODIFIERS = words(
    """
    factorial squared cubed root base radix negative positive below above half halves third thirds quarter
    quarters fourth fourths fifth fifths sixth sixths seventh sevenths eighth eighths ninth ninths tenth
    tenths hundredth hundredths thousandth thousandths millionth millionths double triple twice opposite
    reciprocal inverse conjugate zero one two three four five six seven eight nine ten eleven twelve twenty
    thirty forty fifty sixty seventy eighty ninety lots percentage pi score scores ten tens basis zillion
    elevenths twelfths thirteenths fourteenths fifteenths sixteenths seventeenths eighteenths nineteenths
    twentieths thirtieths fortieths fiftieths sixtieths 
    sextillion septillion octillion nonillion decillion googol gross myriad mille permille permil promille
    ciento milliard milliards milliarden lakhs crores
    """
)
# In a word of a script without spaces, any of these makes it a statement.
WIDE_STATEMENTS = (
    "以上",
    "以下",
    "左右",
    "不",
    "非",
    "或",
    "至",
    "到",
    "约",
    "余",
    "负",
    "多",
    "少于",
    "大于",
    "小于",
    "倍",
    "分之",
    "兆",
    "打",
    "半",
    "次方",
    "根号",
    "对数",
    "阶乘",
    "倒数",
    "相反数",
    "绝对值",
    "错",
    "无",
    "没",
    "百分",
    "十",
    "百",
    "千",
    "万",
    "亿",
    "零",
)
WIDE_NUMBERS = ("百分之", "十万", "百万", "千万", "十亿", "百亿", "千亿", "百", "千(?![米克瓦卡焦])", "十", "万", "亿")
_NTHS = (
    "halves thirds fourths fifths sixths sevenths eighths ninths tenths elevenths twelfths thirteenths fourteenths "
    "fifteenths sixteenths seventeenths eighteenths nineteenths twentieths"
)
FRACTION_WORDS = {word: bottom for bottom, word in enumerate(_NTHS.split(), 2)}
FRACTION_WORDS |= {
    "thirtieths": 30,
    "fortieths": 40,
    "fiftieths": 50,
    "sixtieths": 60,
    "hundredths": 100,
    "thousandths": 1000,
}
"""Word behind a number -> what it divides the number by: `5 twelfths`."""
WIDE_DIGITS = frozenset("十百千万亿")
