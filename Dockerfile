# Builds the package, installs it, and copies it with Node into a small Debian image.
# The base images are arguments, so that a mirror or a digest can take their place.
ARG NODE_IMAGE=node:26-trixie-slim
ARG BASE_IMAGE=debian:trixie-slim

# Runs on the building machine. Dependencies with native parts bring their binaries, so npm installs
# them for the image's platform too.
FROM --platform=$BUILDPLATFORM ${NODE_IMAGE} AS build
ARG TARGETARCH
WORKDIR /src
COPY package.json package-lock.json .npmrc ./
COPY tools/node/package.json tools/node/
RUN npm ci
COPY . .
RUN npm run docs && npm pack --pack-destination /tmp && mkdir -p /opt/gatehouse/lib \
  && npm install --global --prefix /opt/gatehouse --os linux --libc glibc \
    --cpu "$(echo "${TARGETARCH:?}" | sed s/amd64/x64/)" /tmp/gatehouse-*.tgz

FROM ${NODE_IMAGE} AS node

FROM ${BASE_IMAGE}
# Node is linked against it.
RUN apt-get update \
  && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends libatomic1 \
  && rm -rf /var/lib/apt/lists/* /var/cache/apt /var/log/apt /var/log/dpkg.log
COPY --from=node /usr/local/bin/node /usr/local/bin/node
COPY --from=build /opt/gatehouse /opt/gatehouse
COPY deploy/container-start.sh /usr/local/bin/container-start
RUN ln -s /opt/gatehouse/bin/gatehouse /usr/local/bin/gatehouse \
  && mkdir --mode=0700 /data && chown 1000:1000 /data

ENV HOST=0.0.0.0 DATA_DIR=/data NODE_ENV=production
USER 1000:1000
# SQLite writes large temporary files here if the root file system is read-only.
WORKDIR /data
VOLUME /data
EXPOSE 3000
HEALTHCHECK --interval=30s --timeout=10s --start-period=60s --retries=3 CMD ["gatehouse", "health"]
# Becomes `gatehouse` itself, which is process 1 and stops on SIGTERM.
ENTRYPOINT ["container-start"]
CMD ["serve"]

ARG VERSION=
ARG REVISION=
LABEL org.opencontainers.image.title="Gatehouse" \
  org.opencontainers.image.description="A self-hosted gateway for AI-model APIs with a web console" \
  org.opencontainers.image.licenses="MIT" \
  org.opencontainers.image.source="https://github.com/gatehouse-ai/gatehouse" \
  org.opencontainers.image.version="${VERSION}" \
  org.opencontainers.image.revision="${REVISION}"
