"""A shop that requests payments, and serves an order once it is paid.

    pip install "./client[wallet]" flask
    DEEDS_ITEM=deed_… flask --app shop run

`DEEDS_ITEM` is the deed that the shop takes as money. No secret passes between customer
and shop: the customer opens the payment request in a wallet, and the units come into
the shop's wallet.

The shop records an order before it requests the payment, and the order's id is the
reference of that request. So the shop may be killed anywhere: an order without a
request gets one when the shop starts or the order's page is loaded, never a second one.
"""

import os
import sqlite3
from contextlib import closing, suppress
from datetime import UTC, datetime
from secrets import token_urlsafe
from uuid import uuid4

import segno
from flask import Flask, abort, redirect, render_template_string, request, url_for
from werkzeug.wrappers import Response

from deeds_client import CallError, Deeds, DeedsError, Operation, Wallet, offer_link

DEED = os.environ["DEEDS_ITEM"]
PRICE = 2
PAY_WITHIN_S = 15 * 60
ORDERS = os.environ.get("SHOP_ORDERS", "orders.sqlite3")
SCHEMA = """
CREATE TABLE IF NOT EXISTS orders (
    id TEXT PRIMARY KEY, visitor TEXT, deed TEXT, price INTEGER, created_at TEXT)
"""
PAGE = """<!doctype html><meta name="viewport" content="width=device-width">
<title>A song</title>
{% if state == "done" %}<p>Thank you! <b>La la la.</b></p>
{% elif state == "open" %}<meta http-equiv="refresh" content="2">
<p>Pay {{ price }} units with your wallet:</p><p><a href="{{ link }}">{{ link }}</a></p>
{{ code | safe }}
{% else %}<p>Nobody has paid in time. <a href="/">Start again</a></p>{% endif %}"""
LATER = """<!doctype html><meta http-equiv="refresh" content="10"><title>A song</title>
<p>Payments are down at the moment. Your order is kept: this page goes on with it.</p>
"""
SORRY = "<!doctype html><title>A song</title><p>This shop is out of order.</p>\n"

# A customer waits for no more than two tries.
deeds = Deeds(
    os.environ.get("DEEDS_URL", "http://127.0.0.1:8000"), tries=2, timeout=5.0
)
wallet = Wallet(os.environ.get("DEEDS_WALLET", "shop.wallet"), deeds)
app = Flask(__name__)


def query(sql: str, *values: object) -> list[sqlite3.Row]:
    """Run a statement on the orders, in a transaction, and return its rows."""
    with closing(sqlite3.connect(ORDERS)) as database, database:
        database.row_factory = sqlite3.Row
        return database.execute(sql, values).fetchall()


def request_of(order: sqlite3.Row) -> Operation:
    """Return the payment request of an order as it is now. Make it if there is none."""
    about = (order["deed"], order["price"], PAY_WITHIN_S)
    return wallet.ask(*about, reference=order["id"])


def start() -> None:
    """Continue what the last run of this shop began."""
    query(SCHEMA)
    wallet.sync()
    for order in query("SELECT * FROM orders ORDER BY created_at"):
        if not wallet.find(order["id"]):
            request_of(order)


@app.get("/")
def front() -> str:
    """Show what there is to buy."""
    button = f"<button>A song for {PRICE} units</button>"
    return f'<form method="post" action="/buy">{button}</form>'


@app.post("/buy")
def buy() -> Response:
    """Record an order. Its page requests the payment, and may be loaded again."""
    # The service does not say who paid, so only this browser may see the order.
    visitor = request.cookies.get("visitor") or token_urlsafe()
    order, now = uuid4().hex, datetime.now(UTC)
    values = (order, visitor, DEED, PRICE, now.isoformat())
    query("INSERT INTO orders VALUES (?, ?, ?, ?, ?)", *values)
    response = redirect(url_for("show", order_id=order), 303)
    response.set_cookie("visitor", visitor, httponly=True, samesite="Lax")
    return response


@app.get("/orders/<order_id>")
def show(order_id: str) -> str:
    """Show the payment request until it is paid, then serve."""
    visitor = request.cookies.get("visitor")
    sql = "SELECT * FROM orders WHERE id = ? AND visitor = ?"
    found = query(sql, order_id, visitor) or abort(404)
    payment = request_of(found[0])
    link = offer_link(deeds.base_url, payment.offer_id)
    return render_template_string(
        PAGE,
        state=payment.state,
        price=payment.amount,
        link=link,
        code=segno.make(link).svg_inline(scale=4),
    )


@app.errorhandler(DeedsError)
def apologize(error: DeedsError) -> tuple[str, int]:
    """Answer 503 while the service is down: the order continues later.

    A final refusal or an invalid value is a mistake of this shop.
    """
    app.logger.error("%s", error)
    is_down = isinstance(error, CallError) and not error.is_final
    return (LATER, 503) if is_down else (SORRY, 500)


# If the service is down, the pages of the orders request their payments later.
with suppress(DeedsError):
    start()
