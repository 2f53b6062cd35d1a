"""English stop words, as used in text retrieval."""

from __future__ import annotations

_WORDS = """
i me my myself we our ours ourselves you your yours yourself yourselves he him his himself she her hers herself it its
itself they them their theirs themselves what which who whom this that these those am is are was were be been being
have has had having do does did doing a an the and but if or because as until while of at by for with about against
between into through during before after above below to from up down in out on off over under again further then once
here there when where why how all any both each few more most other some such no nor not only own same so than too very
can will just should now
"""
_SHORTENED = """
i'm i've i'd i'll you're you've you'd you'll he's he'd he'll she's she'd she'll it's it'd it'll we're we've we'd we'll
they're they've they'd they'll that's that'll there's what's who's let's isn't aren't wasn't weren't hasn't haven't
hadn't doesn't don't didn't won't wouldn't shan't shouldn't can't cannot couldn't mustn't mightn't needn't should've
"""
STOP_WORDS = frozenset((_WORDS + _SHORTENED).split())
"""The stop words, case-folded, with straight apostrophes."""
