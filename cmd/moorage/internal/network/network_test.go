package network_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"slices"
	"testing"

	"github.com/moorage-dev/moorage/cmd/moorage/internal/network"
)

// TestWall requests a module from its repository instead of the proxy: that is refused and recorded.
func TestWall(t *testing.T) {
	w := &network.Wall{}
	wall := httptest.NewServer(w)
	t.Cleanup(wall.Close)

	cmd := exec.Command("go", "mod", "download", "example.org/nowhere@v1.0.0")
	cmd.Dir, cmd.Env = t.TempDir(), os.Environ()

	for name, value := range network.Environment(wall.URL, "direct") {
		cmd.Env = append(cmd.Env, name+"="+value)
	}

	if out, err := cmd.CombinedOutput(); err == nil {
		t.Errorf("what is on no proxy was loaded:\n%s", out)
	}

	if asked := w.Asked(); !slices.Contains(asked, "CONNECT example.org:443") {
		t.Errorf("the network was asked for, and the wall saw %q", asked)
	}
}

// TestMainCode runs tests that need the module proxy alone, and some that need more.
func TestMainCode(t *testing.T) {
	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, "%s of a proxy", r.URL.Path)
	}))
	t.Cleanup(upstream.Close)

	cases := map[string]struct {
		reason string
		run    func() int
		want   int
	}{
		"Modules": {"They are there.", func() int {
			got := get(t, http.DefaultClient, os.Getenv("GOPROXY")+"/example.org/a/@v/list")
			if want := "/modules/example.org/a/@v/list of a proxy"; got != want {
				t.Errorf("want %q, got %q", want, got)
			}

			return 0
		}, 0},
		"Failure": {"Tests may fail by themselves.", func() int { return 3 }, 3},
		"More": {"What is asked for besides makes them fail.", func() int {
			wall, err := url.Parse(os.Getenv("HTTP_PROXY"))
			if err != nil {
				t.Fatal(err)
			}

			get(t, &http.Client{Transport: &http.Transport{Proxy: http.ProxyURL(wall)}}, "http://example.org")

			return 0
		}, 1},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			for name := range network.Environment("", "") {
				t.Setenv(name, os.Getenv(name)) // restored afterwards
			}

			t.Setenv("GOPROXY", upstream.URL+"/modules,direct")

			if got := network.Main(tc.run); got != tc.want {
				t.Errorf("%s\nwant the exit code %d, got %d", tc.reason, tc.want, got)
			}
		})
	}
}

func get(t *testing.T, c *http.Client, url string) string {
	t.Helper()

	response, err := c.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()

	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}

	return string(text)
}
