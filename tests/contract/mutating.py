"""Hypothesis strategies for near misses: texts and bodies that are almost valid."""

from hypothesis import strategies as st

# Surrogates have no UTF-8 form, so they are tried often.
SURROGATES = st.sampled_from("\ud800\udbff\udc00\udfff")
ANY_CHARACTER = (
    st.characters(exclude_categories=[]) | SURROGATES | st.sampled_from("+.deed_05 \n")
)
ANY_TEXT = st.text(ANY_CHARACTER, max_size=40)

# Pieces that make a raw output invalid, or almost do.
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
