#!/bin/sh
# Starts gatehouse in the container. The image runs as user 1000. Started as root (`--user root`),
# for a volume that another container wrote as root, it hands the volume to user 1000 and goes on
# as that user.
set -eu
if [ "$(id -u)" = 0 ]; then
  chown -R -h 1000:1000 "$DATA_DIR"
  exec setpriv --reuid=1000 --regid=1000 --clear-groups -- gatehouse "$@"
fi
exec gatehouse "$@"
