# Two images from one file: `dashboard` (no torch) and `worker` (torch, for a host with cards).
# docker compose builds them; see docs/deployment.md.

FROM python:3.13.7-slim-bookworm AS base
ENV PYTHONDONTWRITEBYTECODE=1 \
    PYTHONUNBUFFERED=1 \
    PIP_NO_CACHE_DIR=1 \
    PIP_DISABLE_PIP_VERSION_CHECK=1 \
    NUMBA_CACHE_DIR=/tmp/numba
# A fixed number, so that files on the host can be given to it.
RUN groupadd --gid 10001 bucketwise \
    && useradd --uid 10001 --gid 10001 --home-dir /app --no-create-home bucketwise
WORKDIR /app
COPY requirements.txt ./

FROM base AS dashboard
RUN grep -v '^torch==' requirements.txt > /tmp/requirements.txt \
    && pip install -r /tmp/requirements.txt
COPY LICENSE ./
COPY core core
COPY examples examples
COPY .streamlit/config.toml .streamlit/config.toml
COPY app app
USER bucketwise
EXPOSE 8501
ENV STREAMLIT_SERVER_ADDRESS=0.0.0.0 PYTHONPATH=/app
HEALTHCHECK --interval=30s --timeout=5s --start-period=60s --retries=3 \
    CMD ["python", "-c", "import urllib.request as r; r.urlopen('http://127.0.0.1:8501/_stcore/health', timeout=4)"]
CMD ["python", "-m", "streamlit", "run", "app/server.py", "--server.port", "8501"]

FROM base AS worker
# Triton compiles a small launcher for every kernel.
RUN apt-get update \
    && apt-get install --yes --no-install-recommends gcc libc6-dev \
    && rm -rf /var/lib/apt/lists/*
RUN grep -Ev '^(streamlit|plotly|authlib|httpx)==' requirements.txt > /tmp/requirements.txt \
    && pip install -r /tmp/requirements.txt
COPY LICENSE ./
COPY core core
COPY gpu_worker gpu_worker
USER bucketwise
ENV TRITON_CACHE_DIR=/tmp/triton
HEALTHCHECK --interval=30s --timeout=20s --start-period=120s --retries=3 \
    CMD ["sh", "-c", "python -m core.store workers --host \"$(hostname)\""]
CMD ["python", "-m", "gpu_worker"]
