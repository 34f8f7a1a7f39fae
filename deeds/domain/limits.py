"""Bounds of everything that a client may send. Must import nothing."""

# 2**53 - 1: the largest integer that every reader of JSON sees exactly (contract 2.2).
AMOUNT_MAX = 9_007_199_254_740_991

# Decimal digits of AMOUNT_MAX.
AMOUNT_DIGITS_MAX = 16

# Unicode code points of a secret (contract 2.2).
SECRET_LENGTH_MAX = 32

# Elements of `inputs` and `outputs` unless DEEDS_MAX_ARRAY says otherwise (contract part 2).
ARRAY_LENGTH_MAX = 256

# Bytes of a request body unless DEEDS_MAX_BODY_BYTES says otherwise: 1 MiB (contract part 2).
BODY_BYTES_MAX = 1_048_576

# Code points of a text that is made into a QR code. A claim link has 120 of them, or up to 500
# where its secret is in another script.
QR_TEXT_LENGTH_MAX = 1024

# Characters of an Idempotency-Key. A UUID has 36; longer than this no client has a use for.
IDEMPOTENCY_KEY_LENGTH_MAX = 255
