"""Strategies that make near misses: what is almost a good text or almost a body."""

from hypothesis import strategies as st

# One code point of each kind that matters somewhere: a surrogate has no UTF-8 form.
SURROGATES = st.sampled_from("\ud800\udbff\udc00\udfff")
ANY_CHARACTER = (
    st.characters(exclude_categories=[]) | SURROGATES | st.sampled_from("+.deed_05 \n")
)
ANY_TEXT = st.text(ANY_CHARACTER, max_size=40)

# What turns a raw output into something else, or just does not.
RAW_OUTPUT_PIECES = ["", "+", ".", "..", "+5.", "deed_", "0", "1", "9" * 17, "a" * 32]
RAW_OUTPUT_PIECES += ["e1", "-", " ", "\n", "\0", "\u0665", "\u00b2", "\uff0e"]
RAW_OUTPUT_PIECES += ["\uff0b", "\u0301", "\u202e", "\ufeff", "\ud800"]
TEXT_PIECES = st.sampled_from(RAW_OUTPUT_PIECES) | ANY_CHARACTER

JSON_PIECES = st.sampled_from([b'"', b",", b"[", b"}", b"\\u0000"])
BYTE_PIECES = st.binary(max_size=3) | JSON_PIECES


@st.composite
def near_misses(draw, texts, pieces):
    """A text with one to three places changed."""
    text = draw(texts)
    for _ in range(draw(st.integers(1, 3))):
        start = draw(st.integers(0, len(text)))
        length = draw(st.integers(0, 3))
        text = text[:start] + draw(pieces) + text[start + length :]
    return text
