# The service alone: docker build --tag deeds .
# deploy/compose.yaml runs it with PostgreSQL and a proxy. Files are copied by name, so
# no .dockerignore is needed to exclude .env and instance/.
FROM node:22-bookworm-slim AS page
WORKDIR /page
COPY parts/pages/package.json parts/pages/package-lock.json ./
RUN npm ci --ignore-scripts --no-audit --no-fund

FROM python:3.11-slim-bookworm

WORKDIR /srv/deeds
COPY requirements.txt ./
RUN pip install --no-cache-dir --disable-pip-version-check --require-hashes --requirement requirements.txt
RUN useradd --system --uid 10001 --no-create-home deeds \
    && install --directory --owner deeds --group deeds --mode 700 /var/lib/deeds /var/lib/deeds-checkpoint
COPY app.py gunicorn.conf.py gunicorn_conf.py setup.cfg ./
COPY deeds deeds
COPY schemas schemas
COPY storage storage
COPY parts parts
# The packages of the lock file, not those that `make run` may have left in the source.
COPY --from=page /page/node_modules parts/pages/node_modules

# Set DATABASE_URL. Mount a volume for an SQLite file at /var/lib/deeds, and another one
# for the checkpoint file at /var/lib/deeds-checkpoint. New Docker volumes take the
# owner of these directories in the image.
ENV HOST=0.0.0.0 PORT=8000 PYTHONUNBUFFERED=1
EXPOSE 8000
# A number, so that Kubernetes can verify that it is not root.
USER 10001

# Not /readyz: a restart of the service does not make a database reachable.
HEALTHCHECK --interval=10s --timeout=5s --start-period=60s CMD ["python", "-c", "import http.client, os; client = http.client.HTTPConnection('127.0.0.1', int(os.environ['PORT']), timeout=4); client.request('GET', '/healthz'); raise SystemExit(client.getresponse().status != 200)"]

# After SIGTERM, which `docker stop` sends, the service finishes its requests for up to
# 9 s: use --time 19.
CMD ["python", "-m", "app", "serve"]
