# The image of a worker. Builds on any Debian 12 base: docker build -t longshore-worker .
# Where no registry can be reached: npm run setup, then the same with --build-arg BASE=longshore-base:bookworm --network=host
ARG BASE=debian:bookworm-slim

FROM ${BASE} AS build
RUN command -v npm >/dev/null \
  || { apt-get update -qq && apt-get install -y -qq --no-install-recommends ca-certificates npm && rm -rf /var/lib/apt/lists/*; }
# Certificates of a proxy on the way to the registry, if there is one.
COPY images/certificates/ /usr/local/share/ca-certificates/
RUN update-ca-certificates >/dev/null
ENV NODE_EXTRA_CA_CERTS=/etc/ssl/certs/ca-certificates.crt
# Debian 12's own Node is too old for the worker. The npm registry has current ones; npm checks them against the digests of the lock file.
COPY setup/node/ .npmrc /opt/node/
# One package of each platform is optional: npm says nothing when it cannot fetch it.
RUN npm ci --prefix /opt/node --ignore-scripts --loglevel=error --no-fund --no-audit \
  && { install -D /opt/node/node_modules/node-linux-*/bin/node /opt/bin/node \
    || { echo 'npm could not fetch Node.js for this platform. Name a registry that it reaches in .npmrc, and put certificates that it needs into images/certificates.' >&2; exit 1; }; }
ENV PATH=/opt/bin:$PATH
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
RUN npm ci --ignore-scripts --loglevel=error --no-fund --no-audit
COPY . .
# Temporal's package has the native cores of five platforms; the image needs its own.
RUN npm run --silent build && npm prune --omit=dev --ignore-scripts --loglevel=error --no-fund --no-audit \
  && find node_modules/@temporalio/core-bridge/releases -mindepth 1 -maxdepth 1 ! -name "$(uname -m)-unknown-linux-gnu" -exec rm -r {} +

FROM ${BASE}
RUN dpkg-query -W ca-certificates >/dev/null 2>&1 \
  || { apt-get update -qq && apt-get install -y -qq --no-install-recommends ca-certificates && rm -rf /var/lib/apt/lists/*; }
RUN useradd --uid 10001 --user-group --create-home longshore \
  && install -d -o longshore -g longshore -m 0700 /home/longshore/.cache /home/longshore/.cache/longshore
COPY --from=build /opt/bin/node /usr/local/bin/node
WORKDIR /app
COPY --from=build /app/package.json ./
COPY --from=build /app/node_modules node_modules
COPY --from=build /app/dist dist
COPY --from=build /app/images/sandbox images/sandbox
COPY --from=build /app/schemas schemas
COPY --from=build /app/setup setup
USER longshore
ENV NODE_ENV=production
ENTRYPOINT ["node", "dist/cli/main.js"]
CMD ["worker"]
