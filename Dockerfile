# The service with all models of this checkout:
#
#     docker build -t hexatagger .
#     docker run --rm -p 8000:8000 hexatagger
#     docker run --rm -i hexatagger parse < book.txt
FROM python:3.12-slim AS build
WORKDIR /src
COPY . .
# hadolint ignore=DL3013
RUN pip install --no-cache-dir --prefix=/install '.[serve]' ./models

FROM python:3.12-slim
COPY --from=build /install /usr/local
RUN useradd --uid 10001 --create-home hexatagger
USER 10001
WORKDIR /home/hexatagger
EXPOSE 8000
HEALTHCHECK --start-period=20s CMD ["python", "-c", "import urllib.request as u; u.urlopen('http://127.0.0.1:8000/healthz', timeout=5)"]
ENTRYPOINT ["hexatagger"]
CMD ["serve", "--host", "0.0.0.0"]
