# A small image that serves a compact tagger, without torch. See docs/how-to/serve.md.
FROM python:3.11-slim
RUN useradd --create-home acclimate
WORKDIR /home/acclimate/source
COPY pyproject.toml README.md LICENSE ./
COPY src ./src
COPY install-compact ./
RUN ./install-compact python && rm -rf /home/acclimate/source
WORKDIR /home/acclimate
USER acclimate
EXPOSE 8000
HEALTHCHECK CMD ["python", "-c", "import urllib.request; urllib.request.urlopen('http://127.0.0.1:8000/health')"]
CMD ["acclimate", "serve", "tagger=/tagger", "--host", "0.0.0.0"]
