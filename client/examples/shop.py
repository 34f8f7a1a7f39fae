"""A shop that asks for payment by an offer, and serves when it is paid.

    pip install flask
    DEEDS_ITEM=deed_… flask --app shop run

`DEEDS_ITEM` is the deed that the shop takes as money. No secret passes between customer
and shop: the customer opens the offer in a wallet, and the units come into the shop's
own.
"""

import os

import segno
from flask import Flask, Response, abort, redirect, render_template_string, url_for

from deeds_client import Deeds, Wallet
from deeds_client.links import offer_link

PRICE = 2
PAGE = """<!doctype html><meta name="viewport" content="width=device-width">
<title>A song</title>
{% if is_paid %}<p>Thank you! <b>La la la.</b></p>
{% elif is_open %}<meta http-equiv="refresh" content="2">
<p>Pay {{ price }} units with your wallet:</p><p><a href="{{ link }}">{{ link }}</a></p>
{{ code | safe }}
{% else %}<p>Nobody has paid in time. <a href="/">Start again</a></p>{% endif %}"""

deeds = Deeds(os.environ.get("DEEDS_URL", "http://127.0.0.1:8000"))
wallet = Wallet(os.environ.get("DEEDS_WALLET", "shop.wallet"), deeds)
# What the last run of this shop began.
wallet.resume()
app = Flask(__name__)


@app.get("/")
def front() -> str:
    """Show what there is to buy."""
    button = f"<button>A song for {PRICE} units</button>"
    return f'<form method="post" action="/buy">{button}</form>'


@app.post("/buy")
def buy() -> Response:
    """Make a payment request for this customer alone.

    The service does not tell who paid.
    """
    order = wallet.ask(os.environ["DEEDS_ITEM"], PRICE, expires_in=15 * 60)
    # The key of the operation is random, and unlike the id of the offer it is told to
    # nobody else.
    return redirect(url_for("show", key=order["key"]))  # type: ignore[return-value]


@app.get("/orders/<key>")
def show(key: str) -> str:
    """Ask for the payment until it is there, then serve."""
    order = wallet.finish(key) or abort(404)
    link = offer_link(deeds.base_url, order["offerId"])
    return render_template_string(
        PAGE,
        is_paid=order["state"] == "done",
        is_open=order["state"] == "open",
        price=PRICE,
        link=link,
        code=segno.make(link).svg_inline(scale=4),
    )
