#!/bin/sh
# Creates ca.crt and, for each of three databases, db1.crt and db1.key (db2, db3). Run it in an empty
# directory of a machine that is none of them, and keep ca.key there. 127.0.0.1 is for HAProxy.
# See docs/high-availability.md.
set -eu
openssl req -x509 -newkey rsa:3072 -nodes -days 3650 -subj "/CN=deeds databases" \
    -addext "keyUsage=critical,keyCertSign" -keyout ca.key -out ca.crt
for n in 1 2 3; do
    openssl req -newkey rsa:3072 -nodes -subj "/CN=db$n" -keyout db$n.key -out db$n.csr
    echo "subjectAltName=DNS:db$n,IP:10.0.0.$n,IP:127.0.0.1" > db$n.ext
    openssl x509 -req -in db$n.csr -CA ca.crt -CAkey ca.key -CAcreateserial -days 3650 \
        -extfile db$n.ext -out db$n.crt
done
