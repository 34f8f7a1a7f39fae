"""What is built, what it needs, and that all that it exports is documented."""

import re
import shutil
import subprocess
import sys
import tarfile
from importlib import metadata
from pathlib import Path

import httpx
import pytest

import deeds_client
from tests.support.serving import REPOSITORY

README = REPOSITORY / "client/README.md"
BUILD = "from setuptools.build_meta import *; build_sdist('.'); build_wheel('.')"
# httpx and its dependencies.
NEEDED = ["anyio", "certifi", "h11", "httpcore", "httpx", "idna", "sniffio"]
NEEDED += ["typing_extensions.py"]
PROGRAM = """
import sys
from deeds_client import *

deeds = Deeds(sys.argv[1])
with Wallet("shop.wallet", deeds) as shop, Wallet("guest.wallet", deeds) as guest:
    item_id = shop.mint([5]).item_id
    [output] = read_claims(shop.send(item_id, 2).link, deeds.base_url)
    guest.claim(output)
    request = shop.ask(item_id, 1, reference="order")
    guest.complete(deeds.offer(request.offer_id))
    print(shop.wait_paid(request).state, shop.find("order").state, flush=True)
    try:
        shop.export("backup", "passphrase")
    except WalletFileError as error:
        print(error, flush=True)
from deeds_client.__main__ import main
main()
"""
PIP = "pip install"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with a sdist, a wheel, and httpx alone."""
    folder = tmp_path_factory.mktemp("client")
    ignored = shutil.ignore_patterns("tests", "__pycache__")
    shutil.copytree(README.parent, folder, ignore=ignored, dirs_exist_ok=True)
    subprocess.run([sys.executable, "-c", BUILD], cwd=folder, check=True)
    (folder / "only").mkdir()
    for name in NEEDED:
        (folder / "only" / name).symlink_to(Path(httpx.__file__).parents[1] / name)
    return folder


@pytest.mark.slow
def test_wheel_and_sdist_are_whole(folder):
    [found] = metadata.distributions(path=[str(*folder.glob("*.whl"))])
    with tarfile.open(*folder.glob("*.tar.gz")) as sdist:
        names = {Path(name).name for name in sdist.getnames()}

    assert {"LICENSE", "py.typed", "shop.py", "vouchers.py"} <= names
    assert found.read_text("licenses/LICENSE") == (REPOSITORY / "LICENSE").read_text()
    assert found.version == deeds_client.__version__
    needed = " ".join(each for each in found.requires if "extra" not in each)
    assert re.fullmatch("httpx[<>.,=0-9]+", needed)
    # Readers of the wheel have no other file.
    assert not re.findall(r"\]\((?!#|https?:).*?\)", README.read_text())


@pytest.mark.slow
def test_httpx_alone_is_needed_and_what_needs_more_says_so(folder, tmp_path, url):
    [wheel] = folder.glob("*.whl")
    ran = subprocess.run(
        [sys.executable, "-S", "-c", PROGRAM, url],
        env={"PYTHONPATH": f"{wheel}:{folder / 'only'}"},
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )

    lines = f"done done\nBackups need cryptography: {PIP} cryptography\n.*{PIP} .*\n"
    assert re.fullmatch(lines, ran.stdout)
    assert ran.returncode != 0


def test_all_that_is_exported_is_documented():
    readme = README.read_text()
    missing = [
        name for name in deeds_client.__all__ if not re.search(rf"`{name}\b", readme)
    ]
    assert missing == []
