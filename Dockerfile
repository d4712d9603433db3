# The gateway with its state in /data. TLS is expected in front of it.
FROM node:26-trixie-slim AS build
WORKDIR /src
COPY package.json package-lock.json CHANGELOG.md LICENSE ./
COPY packages ./packages
COPY scripts ./scripts
COPY test/openapi/package.json ./test/openapi/package.json
RUN npm ci --omit=dev --ignore-scripts --no-audit --no-fund && node scripts/build.mjs

FROM node:26-trixie-slim
RUN useradd --create-home --uid 10850 gateway && install -d -o gateway -g gateway -m 0700 /data
WORKDIR /app
COPY --from=build /src/packages/gateway/bin ./bin
COPY --from=build /src/packages/gateway/dist ./dist
COPY --from=build /src/packages/gateway/package.json ./package.json
ENV GATEWAY_HOME=/data GATEWAY_BIND=0.0.0.0
USER gateway
VOLUME /data
EXPOSE 10850
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=30s --timeout=3s CMD ["node", "-e", "fetch('http://127.0.0.1:10850/health').then((r) => process.exit(r.ok ? 0 : 1), () => process.exit(1))"]
CMD ["node", "bin/agent-gateway.mjs", "start"]
