"""Metadata that attacks a page on which it is shown."""

import base64

HARMFUL_SVG = (
    b'<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"'
    b' onload="top.harmed=1">'
    b"<script>top.harmed=1</script></svg>"
)

# Each would run, load something or break out of its context if it were not escaped for
# that context.
TEXTS = {
    "script": "<script>window.harmed = 1</script>",
    "end of title": "</title><script>window.harmed = 1</script>",
    "end of attribute": '"><script>window.harmed = 1</script>',
    "attribute": '" onload="window.harmed=1" autofocus onfocus="window.harmed=1" x="',
    "single quotes": "' onerror='window.harmed=1' x='",
    "frame": "<iframe srcdoc='<script>parent.harmed=1</script>'></iframe>",
    "base": '<base href="https://example.net/">'
    '<meta http-equiv="refresh" content="0;url=//x">',
    "style": "</style><style>*{background:url(https://example.net/x)}</style>",
    "comment": "<!--<script>--><script>window.harmed = 1//--></script>",
    "template": "{{ config }} {% raw %} {{ 7 * 7 }} ${7*7} #{7*7}",
    "entities": "&lt;script&gt; &#60;script&#62; &amp;quot;",
    "control characters": "a\x00b\x01c\x0bd\x1be\x7ff\u2028g\u2029h",
    "written backwards": "safe \u202e<tpircs>\u2066 \u2069 \ufeff",
    "piled up": "Z" + "\u0336\u0489\u20dd" * 300,
    "one long word": "W" * 5_000,
    "many lines": "\n" * 500 + "end",
}

# Images that no mint accepts. The ledger of another implementation may hold them.
IMAGES = {
    "javascript": "javascript:window.harmed=1",
    "javascript in capitals": "JaVaScRiPt:window.harmed=1",
    "javascript with a line end": "java\nscript:window.harmed=1",
    "data that is HTML": "data:text/html,<script>window.harmed=1</script>",
    "data of no type": "data:,x",
    "relative": "/v1/info",
    "without a scheme": "//example.net/x.png",
    "with a blank": "https://example.net/x.png onerror=window.harmed=1",
    "ipfs": "ipfs://bafybei/x.png",
}

# Images that a mint accepts. They must not break out of the URL's attribute.
ACCEPTED_IMAGES = {
    "quotes": "https://127.0.0.1:9/'onerror='window.harmed=1",
    "ampersands": "https://127.0.0.1:9/?a=1&quot;&lt=2&amp;b",
    "svg with a script": "data:image/svg+xml;base64,"
    + base64.b64encode(HARMFUL_SVG).decode(),
    "html in the name of an image": "data:image/svg+xml,"
    "%3Cscript%3Etop.harmed=1%3C/script%3E",
}
