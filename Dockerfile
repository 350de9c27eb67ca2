# Both images can be named anew, to pull from a mirror. They must have the same minor version of Python: the compiled
# parts of the packages fit no other.
ARG BUILD_IMAGE=python:3.13-slim-trixie
ARG RUN_IMAGE=gcr.io/distroless/python3-debian13:nonroot

FROM ${BUILD_IMAGE} AS build
WORKDIR /src
# Before the source, so that a change of the source does not install the packages again.
COPY requirements.txt ./
RUN pip install --no-cache-dir --target=/app --requirement requirements.txt
COPY pyproject.toml README.md LICENSE ./
COPY kubelet_exporter ./kubelet_exporter
RUN pip install --no-cache-dir --no-deps --target=/app .

FROM ${RUN_IMAGE}
ARG VERSION=0.1.0
LABEL org.opencontainers.image.title="kubelet-exporter" \
      org.opencontainers.image.description="Prometheus exporter that watches one node's kubelet" \
      org.opencontainers.image.version="${VERSION}"
COPY --from=build /app /app
# MALLOC_ARENA_MAX: the API watch runs in threads, whose own heaps would grow and not be given back.
ENV PYTHONPATH=/app \
    PYTHONUNBUFFERED=1 \
    MALLOC_ARENA_MAX=1
USER 65532:65532
EXPOSE 10052
ENTRYPOINT ["python3", "-m", "kubelet_exporter"]
CMD ["serve"]
