"""The databases that the tests get are what they ask for."""

from collections.abc import Callable

import psycopg
from sqlalchemy import create_engine, inspect

from storage.engine import make_engine, parse_database_url
from tests.support.serving import Service


def test_a_postgres_url_is_an_empty_database_with_fsync(postgres_url: str) -> None:
    with psycopg.connect(postgres_url) as connection:
        assert connection.execute("SHOW fsync").fetchone() == ("on",)
        assert connection.execute("SELECT count(*) FROM pg_stat_user_tables").fetchone() == (0,)


def test_sqlalchemy_takes_the_url_with_its_driver(postgres_url: str) -> None:
    engine = create_engine(postgres_url.replace("postgresql:", "postgresql+psycopg:"))
    assert inspect(engine).get_table_names() == []
    engine.dispose()


def test_fresh_databases_have_the_tables_and_are_apart(
    fresh_postgres_url: Callable[[], str],
) -> None:
    urls = {fresh_postgres_url(), fresh_postgres_url()}

    assert len(urls) == 2
    for url in urls:
        engine = make_engine(parse_database_url(url))
        assert "outputs" in inspect(engine).get_table_names()
        engine.dispose()


def test_the_whole_service_runs_on_each_database(
    database_url: str, gunicorn_service: Callable[..., Service]
) -> None:
    service = gunicorn_service(DATABASE_URL=database_url, WEB_CONCURRENCY="2")

    assert service.get_status("/v1/item/deed_none") == 404
