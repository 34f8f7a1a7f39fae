#!/bin/sh
# Backs the SQLite ledger of DATABASE_URL up, from the repository: deploy/backup.sh DIRECTORY DAYS
# [FILE]. The settings are those of the environment, or of FILE.
# Older backups in the directory are deleted, but only after a new one has passed the audit.
set -eu
directory=$1
days=$2
settings=${3:-}

.venv/bin/python -m app ${settings:+--env-file "$settings"} \
    backup "$directory/deeds-$(date -u +%Y-%m-%dT%H%MZ).sqlite3"

# What a backup that was killed left behind, a directory, too. $directory may be a link.
find "$directory/" -maxdepth 1 -name 'deeds-*.sqlite3*' -mtime "+$days" -exec rm -r {} +
