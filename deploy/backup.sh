#!/bin/sh
# Back up the SQLite ledger of DATABASE_URL. Run in the repository:
#     deploy/backup.sh DIRECTORY DAYS [FILE]
# Settings come from the environment, or from FILE. Backups older than DAYS are deleted
# after the new one has passed its audit.
set -eu
directory=$1
days=$2
settings=${3:-}

.venv/bin/python -m app ${settings:+--env-file "$settings"} \
    backup "$directory/deeds-$(date -u +%Y-%m-%dT%H%MZ).sqlite3"

# Delete directories too, which interrupted backups leave behind. $directory may be a
# link.
find "$directory/" -maxdepth 1 -name 'deeds-*.sqlite3*' -mtime "+$days" -exec rm -r {} +
