# The service alone: `docker build --tag deeds .`, or with all that it needs deploy/compose.yaml. It names
# what it copies, so that no .dockerignore has to keep out .env and instance/.
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
# By its lock file, whatever a machine where `make run` was used has there.
COPY --from=page /page/node_modules parts/pages/node_modules

# Which ledger there is must be said: DATABASE_URL. A volume for an SQLite file is mounted at /var/lib/deeds,
# one for the checkpoint file at /var/lib/deeds-checkpoint. A new volume of Docker's takes the owner that
# these directories have here.
ENV HOST=0.0.0.0 PORT=8000 PYTHONUNBUFFERED=1
EXPOSE 8000
# By number, so that Kubernetes can tell that it is not root.
USER 10001

# Alive, not ready: a database that is away is not mended by another start of this.
HEALTHCHECK --interval=10s --timeout=5s --start-period=60s CMD ["python", "-c", "import http.client, os; client = http.client.HTTPConnection('127.0.0.1', int(os.environ['PORT']), timeout=4); client.request('GET', '/healthz'); raise SystemExit(client.getresponse().status != 200)"]

# SIGTERM, which `docker stop` sends, lets it finish what it began, for up to 9 s: give it --time 19.
CMD ["python", "-m", "app", "serve"]
