"use strict";
(() => {
  const live = document.getElementById("live");
  let source = null, loading = false, again = false;

  const content = () => document.getElementById("content");
  const say = (text) => { if (live.textContent !== text) live.textContent = text; };

  // Times in the words of the reader, beside the exact ones.
  function localize() {
    for (const t of document.querySelectorAll("time")) {
      t.title = new Date(t.dateTime).toLocaleString();
    }
  }

  function overdue() {
    return [...document.querySelectorAll("time.next")].some((t) => new Date(t.dateTime) < Date.now());
  }

  function show(page) {
    const fresh = page && page.getElementById("content");
    if (!fresh) return false;
    const focused = document.activeElement && document.activeElement.id;
    content().replaceWith(document.adoptNode(fresh));
    if (focused && focused !== document.activeElement.id) {
      const same = document.getElementById(focused);
      if (same) same.focus({ preventScroll: true });
    }
    localize();
    return true;
  }

  function load() {
    if (loading) { again = true; return; }
    loading = true;
    const request = new XMLHttpRequest();
    request.open("GET", location.href);
    request.responseType = "document";
    request.onloadend = () => {
      loading = false;
      if (request.status === 403) { close(); say("The session has ended: reload the page."); return; }
      if (request.status !== 0 && !show(request.response)) say("The page cannot be updated: reload it.");
      if (again) { again = false; load(); }
    };
    request.send();
  }

  function close() {
    if (source) source.close();
    source = null;
  }

  function open() {
    close();
    source = new EventSource("/events?version=" + encodeURIComponent(content().dataset.version));
    source.onopen = () => say("Live");
    source.onerror = () => say("Not connected: the page shows the last known state.");
    source.addEventListener("change", (e) => { if (e.data !== content().dataset.version) load(); });
    source.addEventListener("heartbeat", () => { if (overdue()) load(); });
  }

  // A hidden page is not live: browsers allow few connections to one host.
  document.addEventListener("visibilitychange", () => { if (document.hidden) close(); else open(); });
  window.addEventListener("pagehide", close);
  localize();
  if (!document.hidden) open();
})();
