#!/usr/bin/env bash
# Create the secrets for compose.yaml and the systemd unit, once: deploy/secrets/{key,keys,assay.toml,redis.conf}.
# `key` is for clients (Authorization: Bearer KEY); the service stores only its hash.
#   deploy/secrets.sh [FOLDER] [REDIS_HOST]
set -euo pipefail
folder=${1:-$(dirname "$0")/secrets}
host=${2:-redis}
[ ! -e "$folder/key" ] || { echo "secrets: $folder/key is there already" >&2; exit 0; }
random() { od -An -N24 -tx1 /dev/urandom | tr -d ' \n'; }
mkdir -p "$folder"
key=$(random) password=$(random) secret=$(random)
(umask 077; printf '%s\n' "$key" > "$folder/key")
printf 'sha256:%s\n' "$(printf '%s' "$key" | sha256sum | cut -d' ' -f1)" > "$folder/keys"
cat > "$folder/redis.conf" <<CONF
requirepass $password
save ""
appendonly no
maxmemory 1gb
maxmemory-policy allkeys-lru
CONF
cat > "$folder/assay.toml" <<TOML
[redis]
url = "redis://:$password@$host:6379/0"
secret = "$secret"
TOML
# Containers read these files as other users; the permissions of the folder keep everyone else out.
chmod 644 "$folder/keys" "$folder/redis.conf" "$folder/assay.toml"
chmod 700 "$folder"
