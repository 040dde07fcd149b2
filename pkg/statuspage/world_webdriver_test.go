package statuspage

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/moorage-dev/moorage/pkg/test/port"
	"github.com/moorage-dev/moorage/pkg/test/wait"
)

// A chromium is a browser without a window, driven by the WebDriver protocol of chromedriver.
type chromium struct {
	t       *testing.T
	session string // its address
}

// newChromium starts a browser with an empty profile. It ends with the test.
func newChromium(t *testing.T) *chromium {
	t.Helper()
	for _, program := range []string{"chromium", "chromedriver"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Fatalf("this test needs a browser: install it by apt-get install chromium chromium-driver (%v)", err)
		}
	}
	at := port.Free(t)
	driver := exec.CommandContext(t.Context(), "chromedriver", fmt.Sprintf("--port=%d", at))
	must(t, driver.Start())
	t.Cleanup(func() { _ = driver.Wait() }) // the context of the test ends it
	b := &chromium{t: t, session: fmt.Sprintf("http://127.0.0.1:%d", at)}
	wait.Until(t, "chromedriver answers", func() bool {
		_, err := b.send(http.MethodGet, "/status", nil)

		return err == nil
	})
	var made struct{ SessionID string }
	b.call("/session", map[string]any{"capabilities": map[string]any{"alwaysMatch": map[string]any{
		"browserName": "chrome",
		"goog:chromeOptions": map[string]any{"args": []string{
			"--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
			"--disable-background-networking", "--disable-component-update", "--disable-sync", "--window-size=1280,900",
			"--user-data-dir=" + t.TempDir(),
		}},
	}}}, &made)
	b.session += "/session/" + made.SessionID
	t.Cleanup(func() { _, _ = b.send(http.MethodDelete, "", nil) })

	return b
}

// call calls a command, and decodes its value.
func (b *chromium) call(command string, args map[string]any, value any) {
	b.t.Helper()
	answer, err := b.send(http.MethodPost, command, args)
	must(b.t, err)
	if value != nil {
		must(b.t, json.Unmarshal(answer, value))
	}
}

// send sends a command, and returns its value.
func (b *chromium) send(method, command string, args map[string]any) (json.RawMessage, error) {
	var body io.Reader = http.NoBody
	if method == http.MethodPost {
		text, err := json.Marshal(args)
		if err != nil {
			return nil, err
		}
		body = bytes.NewReader(text)
	}
	r, err := http.NewRequestWithContext(b.t.Context(), method, b.session+command, body)
	if err != nil {
		return nil, err
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	var decoded struct{ Value json.RawMessage }
	if err := json.NewDecoder(answer.Body).Decode(&decoded); err != nil {
		return nil, err
	}
	if answer.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s: %.600s", command, decoded.Value)
	}

	return decoded.Value, nil
}

// open opens an address, and waits until the page is loaded.
func (b *chromium) open(url string) {
	b.t.Helper()
	b.call("/url", map[string]any{"url": url}, nil)
}

// run runs the body of a JavaScript function, and decodes its result.
func (b *chromium) run(script string, value any) {
	b.t.Helper()
	b.call("/execute/sync", map[string]any{"script": script, "args": []any{}}, value)
}

// runAsync runs the body of a JavaScript function that passes its result to its argument.
func (b *chromium) runAsync(script string, value any) {
	b.t.Helper()
	b.call("/execute/async", map[string]any{"script": "const done = arguments[0];" + script, "args": []any{}}, value)
}

// devtools calls a command of the DevTools protocol.
func (b *chromium) devtools(command string, params map[string]any) {
	b.t.Helper()
	b.call("/goog/cdp/execute", map[string]any{"cmd": command, "params": params}, nil)
}

// scheme sets whether the reader prefers light or dark.
func (b *chromium) scheme(name string) {
	b.t.Helper()
	b.devtools("Emulation.setEmulatedMedia", map[string]any{"features": []map[string]string{
		{"name": "prefers-color-scheme", "value": name},
	}})
}

// enter opens a site by its link, and waits for the first page.
func (b *chromium) enter(origin string, s *site) {
	b.t.Helper()
	links := s.log.all()
	b.open(origin + links[len(links)-1])
	wait.Until(b.t, "the link leads to the page", func() bool {
		var title string
		b.run(`return document.title`, &title)

		return strings.HasPrefix(title, "Status")
	})
}

// picture writes a small picture of the page at an address to a file.
func (b *chromium) picture(url, file string) {
	b.t.Helper()
	b.devtools("Emulation.setDeviceMetricsOverride", map[string]any{
		"width": 1240, "height": 860, "deviceScaleFactor": 0.75, "mobile": false,
	})
	b.open(url)
	answer, err := b.send(http.MethodGet, "/screenshot", nil)
	must(b.t, err)
	png, err := base64.StdEncoding.DecodeString(strings.Trim(string(answer), `"`))
	must(b.t, err)
	must(b.t, os.WriteFile(file, png, 0o600))
}
