# visualjudge with its studio: docker build -t visualjudge .
FROM python:3.12-slim AS build
WORKDIR /build
COPY pyproject.toml README.md LICENSE ./
COPY src src
RUN pip wheel --no-cache-dir --no-deps --wheel-dir /wheels .

FROM python:3.12-slim
COPY requirements.lock /tmp/requirements.lock
COPY --from=build /wheels /wheels
RUN pip install --no-cache-dir --constraint /tmp/requirements.lock "$(ls /wheels/*.whl)[studio]" \
    && rm -r /wheels /tmp/requirements.lock \
    && useradd --create-home judge \
    && install --directory --owner judge --group judge /home/judge/.cache
USER judge
WORKDIR /study
ENTRYPOINT ["visualjudge"]
CMD ["--help"]
