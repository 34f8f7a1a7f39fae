"""What every answer carries, so that no browser can be turned against it. Must import nothing."""

# Types are not guessed, links tell nobody where they were clicked, and what is shown as a page
# loads nothing and stands in no frame. Pages of ours have a policy of their own instead.
SAFE_HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
}
