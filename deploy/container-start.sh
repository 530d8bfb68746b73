#!/bin/sh
# Starts gatehouse in the container. The image runs as user 1000. Started as root (`--user root`),
# for a volume that another container wrote as root, it makes user 1000 the owner of the volume and
# continues as that user.
set -eu
if [ "$(id -u)" = 0 ]; then
  chown -R -h 1000:1000 "$DATA_DIR"
  exec setpriv --reuid=1000 --regid=1000 --clear-groups -- gatehouse "$@"
fi
exec gatehouse "$@"
