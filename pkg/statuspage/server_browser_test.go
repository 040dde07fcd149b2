package statuspage

import (
	"flag"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/moorage-dev/moorage/pkg/resource"
	"github.com/moorage-dev/moorage/pkg/test/wait"
)

var (
	axeScript  = flag.String("axe", "", "the file axe.min.js of axe-core, with which make page checks accessibility")
	screenshot = flag.String("screenshot", "", "a PNG file to which TestBrowser writes a picture of the first page")
	outlines   = flag.Bool("update-outlines", false, "write the outlines of the pages in testdata")
)

// Bounds of the first page of 20,000 objects.
const (
	mostPaintMilliseconds = 1000
	mostPageBytes         = 2_000_000
)

// TestBrowser opens the pages in Chromium.
func TestBrowser(t *testing.T) {
	b := newChromium(t)
	for name, test := range map[string]func(*testing.T, *chromium){
		"many objects": firstPaint, "accessible": accessible, "outlines": sameOutlines, "live": staysLive,
	} {
		t.Run(name, func(t *testing.T) {
			own := *b
			own.t = t
			test(t, &own)
		})
	}
}

// serve serves the pages of a fixture until the test ends.
func serve(t *testing.T, x *fixture) (origin string, s *site) {
	t.Helper()
	s = newSite(t, x)
	h := httptest.NewServer(s.server)
	t.Cleanup(h.CloseClientConnections)
	t.Cleanup(h.Close)
	t.Cleanup(h.CloseClientConnections)

	return h.URL, s
}

// firstPaint: the first page of 20,000 objects is shown within a second, and has less than 2 MB.
func firstPaint(t *testing.T, b *chromium) {
	origin, s := serve(t, manyObjects(20_000))
	b.enter(origin, s)
	var paint, size float64
	b.open(origin + "/?state=All")
	wait.Until(t, "the first paint", func() bool {
		b.run(`const p = performance.getEntriesByName("first-contentful-paint")[0]; return p ? p.startTime : 0`, &paint)

		return paint > 0
	})
	b.run(`return performance.getEntriesByType("navigation").concat(performance.getEntriesByType("resource"))`+
		`.reduce((n, e) => n + e.transferSize, 0)`, &size)
	t.Logf("first_paint_milliseconds: %.0f", paint)
	t.Logf("page_bytes: %.0f", size)
	if paint > mostPaintMilliseconds || size > mostPageBytes || size == 0 {
		t.Errorf("first paint after %.0f ms, %.0f bytes", paint, size)
	}
}

// accessible: axe-core finds no violation of WCAG AA on any page, in light and in dark.
func accessible(t *testing.T, b *chromium) {
	axe, err := os.ReadFile(*axeScript)
	if err != nil {
		t.Fatalf("axe-core is missing: run make page (%v)", err)
	}
	origin, s := serve(t, example())
	pages := map[string]string{"overview": "/", "object": "/object/uid-drifted", "unknown": "/object/none"}
	b.open(origin + "/")
	checkAccess(t, b, string(axe), "refused")
	b.enter(origin, s)
	for name, path := range pages {
		for _, scheme := range []string{"light", "dark"} {
			b.scheme(scheme)
			b.open(origin + path)
			checkAccess(t, b, string(axe), name+" in "+scheme)
		}
	}
}

func checkAccess(t *testing.T, b *chromium, axe, page string) {
	t.Helper()
	var violations []string
	b.runAsync(axe+`;axe.run(document, {runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]})`+
		`.then((r) => done(r.violations.map((v) => v.id + ": " + v.help + ": " + v.nodes.map((n) => n.html))),`+
		` (e) => done([String(e)]))`, &violations)
	for _, v := range violations {
		t.Errorf("the page %s: %s", page, v)
	}
}

// outline returns the structure of a page: its landmarks, headings, tables with captions and columns, fields and links.
const outline = `return [...document.querySelectorAll("header,main,form,section,nav,h1,h2,table,caption,thead th,` +
	`tbody tr,label,input,select,button,dt,time,a,[role=status]")].filter((e) => e.checkVisibility()).map((e) => {` +
	`let depth = 0; for (let p = e.parentElement; p; p = p.parentElement) depth++;` +
	`const leaf = ["H1","H2","CAPTION","TH","LABEL","BUTTON","DT"].includes(e.tagName);` +
	`return " ".repeat(depth) + e.tagName.toLowerCase() + (leaf ? " " + e.innerText.trim() : "") }).join("\n")`

// sameOutlines: the pages have the structure that testdata has, in light and in dark.
func sameOutlines(t *testing.T, b *chromium) {
	origin, s := serve(t, example())
	b.enter(origin, s)
	for name, path := range map[string]string{"overview": "/", "object": "/object/uid-drifted"} {
		for _, scheme := range []string{"light", "dark"} {
			b.scheme(scheme)
			b.open(origin + path)
			var got string
			b.run(outline, &got)
			file := "testdata/" + name + ".outline"
			if *outlines {
				must(t, os.WriteFile(file, []byte(got+"\n"), 0o600))
			}
			want, err := os.ReadFile(file)
			must(t, err)
			if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(got+"\n", "\n")); diff != "" {
				t.Errorf("%s in %s: -want, +got:\n%s", name, scheme, diff)
			}
		}
	}
	if *screenshot != "" {
		b.scheme("light")
		b.picture(origin+"/?q=sea", *screenshot)
	}
}

// staysLive: an open page shows a change without a reload, and keeps the place of the reader.
func staysLive(t *testing.T, b *chromium) {
	x := example()
	origin, s := serve(t, x)
	b.enter(origin, s)
	text := func(script string) (value string) {
		b.run(script, &value)

		return value
	}
	wait.Until(t, "the page is live", func() bool {
		return text(`return document.getElementById("live").textContent`) == "Live"
	})
	b.run(`document.getElementById("o-uid-broken").focus(); document.body.dataset.same = "yes"`, nil)
	x.change(func() {
		x.objects = append(x.objects, resource.Managed(newBucket("late", synced("Bad", "a new fault"))))
	})
	wait.Until(t, "the new object is on the page", func() bool {
		return text(`return document.getElementById("o-uid-late") ? "yes" : ""`) == "yes"
	})
	if text(`return document.activeElement.id`) != "o-uid-broken" || text(`return document.body.dataset.same`) != "yes" {
		t.Error("the page was loaded anew, or the focus is lost")
	}
	if logs := text(`return performance.getEntriesByType("resource").filter((e) => !e.name.startsWith(location.origin))` +
		`.map((e) => e.name).join()`); logs != "" {
		t.Errorf("the page loads from elsewhere: %s", logs)
	}
}
