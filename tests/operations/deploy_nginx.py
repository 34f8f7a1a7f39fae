"""The blocks of docs/deployment.md that install nginx: `make operations`.

They run unchanged, as root, on the files of Debian's packages. Separate namespaces keep
them from changing this machine.
"""

import os

from tests.support.commanding import printed_by
from tests.support.readme import FENCE
from tests.support.sources import section

AS_ROOT = ["sudo"] if os.geteuid() else []
APART = ["unshare", "--mount", "--net", "--pid", "--fork", "--kill-child"]

# Restores the state after an installation of the package `nginx`, and replaces the
# commands that would change this machine or ask others.
BEFORE = """
mount -t tmpfs tmpfs /mnt
for place in etc var run; do
    mkdir -p /mnt/$place/upper /mnt/$place/work
    layers=lowerdir=/$place,upperdir=/mnt/$place/upper,workdir=/mnt/$place/work
    mount -t overlay -o $layers overlay /$place
done
ip link set lo up
rm -rf /etc/nginx/modules-enabled/* /etc/nginx/conf.d/* /var/cache/nginx* /run/nginx.pid
ln -sf /etc/nginx/sites-available/default /etc/nginx/sites-enabled/default
mkdir -p /var/www/html
sudo() { "$@"; }
apt-get() { echo "packages: $*"; }
systemctl() { if [ $1 = restart ]; then nginx -e stderr; else nginx -s reload; fi; }
certbot() {
    live=/etc/letsencrypt/live/$SITE proof=.well-known/acme-challenge/proof
    mkdir -p $live /var/www/html/.well-known/acme-challenge
    echo proven >/var/www/html/$proof
    curl --silent --resolve $SITE:80:127.0.0.1 http://$SITE/$proof
    openssl req -x509 -newkey rsa:2048 -nodes -subj "/CN=$SITE" -addext \
        subjectAltName=DNS:$SITE -keyout $live/privkey.pem -out $live/fullchain.pem
}
"""

# Waits for workers that serve the certificate that certbot obtained.
AFTER = """
until curl --silent --resolve $SITE:443:127.0.0.1 https://$SITE/v1/info \
    --cacert /etc/letsencrypt/live/$SITE/fullchain.pem; do sleep 0.1; done
stat --format "%n of %U" /var/cache/nginx-deeds
"""


def test_nginx_starts_on_debian_as_the_document_says():
    blocks = FENCE.findall(section("docs/deployment.md", "nginx on Debian 12 and 13"))
    first, second = (text for language, text in blocks if language == "sh")

    script = BEFORE + first + second + AFTER
    printed = printed_by(*AS_ROOT, *APART, "bash", "-euc", script, timeout=60)

    # No service runs, so each answer over TLS is nginx's own.
    away = '"code":"ledger_in_doubt"}'
    assert printed.count(away) == 2
    assert "packages: install nginx openssl curl certbot\n" in printed
    assert "proven\n" in printed
    assert printed.endswith("/var/cache/nginx-deeds of www-data\n")
