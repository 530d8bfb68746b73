#!/usr/bin/env bash
# Builds the image from the Dockerfile and runs it: `deploy/test-image.sh`. Needs Linux, root, this
# clone after `npm ci`, and Debian's packages buildah, podman, runc, mmdebstrap, iproute2 and curl.
#
# It needs no registry of images: the two base images are made here, of Debian's packages and the
# Node of the clone. They stand in for node:…-slim and debian:…-slim, which are not tested.
# NODE_IMAGE and BASE_IMAGE name real ones instead, which are then pulled.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

SUITE=trixie
SIZE_MAX_MB=350
PASSWORD='RootPass1'

[ "$(id -u)" = 0 ] || { echo 'needs root' >&2; exit 2; }
for tool in buildah podman runc mmdebstrap ip curl npm; do
  command -v "$tool" >/dev/null || { echo "needs $tool" >&2; exit 2; }
done

work=$(mktemp -d)
cache=${XDG_CACHE_HOME:-$HOME/.cache}/gatehouse-test-image
net="gatehouse-$$"
mkdir -p "$cache"

# Images and containers of this run alone, with limits that a sandbox may grant.
cat > "$work/containers.conf" <<CONF
[containers]
default_ulimits = ["nofile=$(ulimit -Hn):$(ulimit -Hn)", "nproc=4096:4096"]
[engine]
cgroup_manager = "cgroupfs"
events_logger = "file"
CONF
export CONTAINERS_CONF="$work/containers.conf"
store=(--root "$work/store" --runroot "$work/run" --storage-driver "${STORAGE_DRIVER:-overlay}")
build() { buildah "${store[@]}" "$@"; }
# Without systemd podman cannot run health checks by itself and says so each time; here they are
# run by hand.
pod() { podman "${store[@]}" --runtime runc "$@" 2> >(grep -v 'systemd connection' >&2); }
inside() { ip netns exec "$net" "$@"; }

upstream=
clean_up() {
  [ -z "$upstream" ] || kill "$upstream" 2>/dev/null || true
  pod rm --all --force --time 0 >/dev/null 2>&1 || true
  ip netns delete "$net" 2>/dev/null || true
  awk -v under="$work/" 'index($2, under) == 1 { print $2 }' /proc/mounts | sort -r | xargs -r umount --lazy
  rm -rf "$work"
}
trap clean_up EXIT

passed=0
failed=0
# check <what> <command…>: the command's success is the result.
check() {
  local what=$1
  shift
  if "$@" >"$work/said" 2>&1; then
    passed=$((passed + 1))
    echo "ok    $what"
  else
    failed=$((failed + 1))
    echo "FAIL  $what"
    sed 's/^/      /' "$work/said" | tail -20
  fi
}
skip() { echo "skip  $1"; }
# Whether a text has a pattern in it; shows the text if not.
has() { grep -qE -- "$2" <<<"$1" || { echo "$1"; return 1; }; }

# --- Base images -----------------------------------------------------------------------------

if [ -z "${NODE_IMAGE:-}" ] || [ -z "${BASE_IMAGE:-}" ]; then
  echo "base images: Debian $SUITE and the clone's Node (stand-ins; the official ones are not tested here)"
  if [ ! -f "$cache/$SUITE.tar" ]; then
    # What Debian's slim images leave out, too.
    mmdebstrap --quiet --variant=minbase \
      --dpkgopt='path-exclude=/usr/share/doc/*' --dpkgopt='path-exclude=/usr/share/man/*' \
      --dpkgopt='path-exclude=/usr/share/locale/*' "$SUITE" "$cache/$SUITE.tar.part"
    mv "$cache/$SUITE.tar.part" "$cache/$SUITE.tar"
  fi
  mkdir "$work/base"
  cp "$cache/$SUITE.tar" "$work/base/debian.tar"
  cp "node_modules/node-linux-$(uname -m | sed 's/x86_64/x64/; s/aarch64/arm64/')/bin/node" "$work/base/node"
  cp -r "$(npm root --global)/npm" "$work/base/npm"
  # Behind a proxy that replaces certificates, npm needs the one that this machine trusts.
  cat "${NODE_EXTRA_CA_CERTS:-/dev/null}" > "$work/base/authorities.pem"
  printf 'FROM scratch\nADD debian.tar /\nCMD ["sh"]\n' > "$work/base/Debian"
  cat > "$work/base/Node" <<NODE
FROM localhost/debian
RUN apt-get update && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends libatomic1
COPY node /usr/local/bin/node
COPY npm /usr/local/lib/node_modules/npm
COPY authorities.pem /etc/authorities.pem
ENV NODE_EXTRA_CA_CERTS=/etc/authorities.pem
RUN ln -s ../lib/node_modules/npm/bin/npm-cli.js /usr/local/bin/npm
NODE
  build bud --quiet --isolation chroot -t localhost/debian -f "$work/base/Debian" "$work/base" >/dev/null
  build bud --quiet --isolation chroot -t localhost/node -f "$work/base/Node" "$work/base" >/dev/null
  NODE_IMAGE=localhost/node BASE_IMAGE=localhost/debian
  rm -rf "$work/base"
fi

# --- Build -----------------------------------------------------------------------------------

started=$SECONDS
build bud --isolation chroot --format docker \
  --build-arg "NODE_IMAGE=$NODE_IMAGE" --build-arg "BASE_IMAGE=$BASE_IMAGE" \
  --build-arg "VERSION=$(npm pkg get version | tr -d '"')" \
  --build-arg "REVISION=$(git rev-parse HEAD)" \
  -t localhost/gatehouse -f Dockerfile . > "$work/build.log" 2>&1 || {
  tail -40 "$work/build.log"
  echo 'the image cannot be built' >&2
  exit 1
}
echo "built in $((SECONDS - started)) s"

bytes=$(pod image inspect localhost/gatehouse --format '{{.Size}}')
check "the image has $((bytes / 1000000)) MB unpacked, at most $SIZE_MAX_MB" \
  test "$((bytes / 1000000))" -le "$SIZE_MAX_MB"
check 'its user is not root' \
  test "$(pod image inspect localhost/gatehouse --format '{{.Config.User}}')" = 1000:1000
check 'it has labels, a volume and a health check' has \
  "$(pod image inspect localhost/gatehouse)" '"org.opencontainers.image.version": "[0-9]+\.'
check 'gatehouse --version answers' has "$(pod run --rm localhost/gatehouse --version)" '^[0-9]+\.[0-9]+\.[0-9]+'

# --- Run -------------------------------------------------------------------------------------

# A network of its own: containers listen on all its addresses, which are loopback only.
ip netns add "$net"
inside ip link set lo up
(cd "$work" && exec ip netns exec "$net" "$OLDPWD/node_modules/.bin/node" \
  "$OLDPWD/tools/fake-upstream/fake-upstream.ts" --port 4010) >"$work/upstream.log" 2>&1 &
upstream=$!

url=http://127.0.0.1:3000
run=(run --detach --network "ns:/run/netns/$net" --read-only --read-only-tmpfs=false --tmpfs /tmp
  --security-opt no-new-privileges --stop-timeout 100)
api() { inside curl -sS --max-time 60 "$@"; }
ready() {
  for _ in $(seq 120); do
    api -f "$url/readyz" 2>/dev/null && return 0
    sleep 0.5
  done
  return 1
}
hardened=(--cap-drop ALL)

pod volume create data >/dev/null
pod "${run[@]}" "${hardened[@]}" --name first --volume data:/data localhost/gatehouse >/dev/null
check 'starts with a read-only root file system, without capabilities, on an empty volume' ready
check 'is healthy by its own health check' pod healthcheck run first
pid=$(pod inspect first --format '{{.State.Pid}}')
check 'runs as user 1000' has "$(cat "/proc/$pid/status")" '^Uid:\s+1000\s+1000'
check 'Node is process 1' has "$(tr '\0' ' ' < "/proc/$pid/cmdline")" '^(/usr/bin/env )?node .*gatehouse serve'
check 'cannot write to the root file system' has \
  "$(pod exec first sh -c 'touch /opt/gatehouse/x' 2>&1)" 'Read-only file system'
logged=$(pod logs first 2>&1)
check 'the random root password is in the log, once' test \
  "$(grep -c "root's password, shown once" <<<"$logged")" = 1
password=$(sed -n "s/^root's password, shown once: //p" <<<"$logged")
check 'root signs in with it' has "$(api -c "$work/cookies" "$url/api/user/login" \
  -d "{\"username\": \"root\", \"password\": \"$password\"}")" '"success":true'

api -b "$work/cookies" "$url/api/channel/" -d '{"type": 1, "name": "quick", "key": "any",
  "base_url": "http://127.0.0.1:4010", "models": "gpt-4o-mini"}' >/dev/null
api -b "$work/cookies" "$url/api/channel/" -d '{"type": 1, "name": "slow", "key": "any",
  "base_url": "http://127.0.0.1:4010/~slow-chunk-1000+tokens-8+chunks-8", "models": "gpt-4o"}' >/dev/null
api -b "$work/cookies" "$url/api/token/" \
  -d '{"name": "first", "expired_time": -1, "unlimited_quota": true}' >/dev/null
key=$(api -b "$work/cookies" "$url/api/token/" | grep -o '"key":"[^"]*"' | head -1 | cut -d'"' -f4)
call() {
  api -N "$url/v1/chat/completions" -H "Authorization: Bearer sk-$key" -d "{
    \"model\": \"$1\", \"stream\": $2, \"messages\": [{\"role\": \"user\", \"content\": \"Hi\"}]}"
}
check 'relays a call' has "$(call gpt-4o-mini false)" 'forty-two'

# SIGTERM with calls under way.
streams=()
for number in 1 2 3 4 5; do
  call gpt-4o true > "$work/stream-$number" 2>&1 &
  streams+=($!)
done
sleep 3
check 'calls are under way when it is stopped' test \
  "$(grep -l 'data:' "$work"/stream-* | wc -l) $(grep -l 'DONE' "$work"/stream-* | wc -l)" = '5 0'
started=$SECONDS
pod stop first >/dev/null 2>&1
echo "      stopped in $((SECONDS - started)) s"
wait "${streams[@]}" || true
check 'SIGTERM lets all calls end' test "$(grep -l 'DONE' "$work"/stream-* | wc -l)" = 5
check 'it says that it was told to stop' has \
  "$(pod logs first 2>&1)" '"signal":"SIGTERM".*stopping'
check 'SIGTERM ends it with exit code 0' test "$(pod inspect first --format '{{.State.ExitCode}}')" = 0

pod rm first >/dev/null
pod "${run[@]}" "${hardened[@]}" --name second --volume data:/data localhost/gatehouse >/dev/null
check 'a second container starts on the volume' ready
check 'data persists: the token still works' has "$(call gpt-4o-mini false)" 'forty-two'
check 'the session still works' has "$(api -b "$work/cookies" "$url/api/user/self")" '"success":true'
check 'the books balance' has "$(pod exec second gatehouse reconcile)" '0 differences'
pod rm --force second >/dev/null 2>&1

# --- A volume of One API ---------------------------------------------------------------------

# As One API's container leaves it: everything belongs to root.
old="$work/one-api"
mkdir "$old"
cp fixtures/databases/one-api.sqlite "$old/one-api.db"
chmod 644 "$old/one-api.db"
before=$(sha256sum < "$old/one-api.db")

pod "${run[@]}" "${hardened[@]}" --name refused --volume "$old:/data" localhost/gatehouse >/dev/null
pod wait refused >/dev/null
check 'without --user root it changes nothing and says whose the folder is' has \
  "$(pod logs refused 2>&1)" 'belongs to user 0, this is user 1000'
check 'the file of One API is as it was' test "$(sha256sum < "$old/one-api.db")" = "$before"

pod "${run[@]}" --user root --name adopted --volume "$old:/data" \
  --env "INITIAL_ROOT_PASSWORD=$PASSWORD" localhost/gatehouse >/dev/null
check '--user root -v old-one-api-data:/data starts' ready
check 'the database was adopted' has "$(pod logs adopted 2>&1)" 'the database was adopted'
pid=$(pod inspect adopted --format '{{.State.Pid}}')
check 'and still runs as user 1000' has "$(cat "/proc/$pid/status")" '^Uid:\s+1000\s+1000'
check 'a copy of the file as it was is kept' test -s "$(ls "$old"/one-api.db.before-gatehouse-*)"
check 'no second database was made' test ! -e "$old/gatehouse.db"
check 'the books balance' has "$(pod exec --user 1000 adopted gatehouse reconcile)" '0 differences'
pod stop adopted >/dev/null 2>&1
pod rm adopted >/dev/null
pod "${run[@]}" "${hardened[@]}" --name again --volume "$old:/data" localhost/gatehouse >/dev/null
check 'from then on it starts without --user root' ready

[ "$NODE_IMAGE" != localhost/node ] || skip 'the official base images: made here instead'
skip 'the image for arm64: this machine cannot run it'
skip 'docker itself and docker compose: buildah, podman and runc stand in'
echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
