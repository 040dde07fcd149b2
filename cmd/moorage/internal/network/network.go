// Package network denies tests, and the programs that they run, every network access but to the module proxy:
// generated projects must need no other. Begin with [Main].
package network

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"sync"
)

// Main runs tests and returns their exit code, or 1 if one of them requested more network than the module proxy. It
// sees and refuses programs that use the proxy variables, such as Go, git and curl; other connections it cannot see.
// Addresses of this machine are allowed.
func Main(run func() int) (code int) {
	w := &Wall{}
	wall := httptest.NewServer(w)
	defer wall.Close()

	modules, stop, err := behind(wall.URL)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)

		return 1
	}
	defer stop()

	for name, value := range Environment(wall.URL, modules) {
		if err := os.Setenv(name, value); err != nil {
			fmt.Fprintln(os.Stderr, err)

			return 1
		}
	}

	code = run()

	if asked := w.Asked(); len(asked) > 0 {
		fmt.Fprintf(os.Stderr, "more network than the module proxy was asked for:\n%s\n", strings.Join(asked, "\n"))

		return 1
	}

	return code
}

// Environment returns the variables that direct every request to a wall, except requests for modules, which go to the
// given list of proxies, as in $GOPROXY.
func Environment(wall, modules string) map[string]string {
	out := map[string]string{
		"GOPROXY":            modules,
		"GOVCS":              "*:off", // Go must not look for repositories
		"GIT_ALLOW_PROTOCOL": "file",
	}

	for _, name := range []string{"http_proxy", "https_proxy", "all_proxy"} {
		out[name], out[strings.ToUpper(name)] = wall, wall
	}

	out["no_proxy"] = "localhost,127.0.0.1,::1"
	out["NO_PROXY"] = out["no_proxy"]

	return out
}

// A Wall is a proxy that refuses every request and records it. The zero value is ready to use, concurrently.
type Wall struct {
	mu    sync.Mutex
	asked []string
}

// ServeHTTP refuses the request and records it.
func (w *Wall) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	w.mu.Lock()
	w.asked = append(w.asked, r.Method+" "+r.Host)
	w.mu.Unlock()

	http.Error(rw, "there is no network here but the module proxy", http.StatusForbidden)
}

// Asked returns the requests so far.
func (w *Wall) Asked() []string {
	w.mu.Lock()
	defer w.mu.Unlock()

	return append([]string{}, w.asked...)
}

// behind starts a server of this process for each module proxy of this machine, except "direct", and returns their
// URLs. The servers bypass the wall.
func behind(wall string) (list string, stop func(), err error) {
	out, err := exec.Command("go", "env", "GOPROXY").Output()
	if err != nil {
		return "", nil, fmt.Errorf("cannot ask for the module proxy: %w", err)
	}

	// net/http caches the proxy settings of a process: it must read them before the wall is set.
	if first, err := http.NewRequest(http.MethodGet, wall, nil); err == nil {
		_, _ = http.ProxyFromEnvironment(first)
	}

	var (
		names   []string
		servers []*httptest.Server
	)

	for _, name := range strings.FieldsFunc(strings.TrimSpace(string(out)),
		func(r rune) bool { return r == ',' || r == '|' }) {
		switch {
		case name == "direct":
		case strings.HasPrefix(name, "http"):
			s := httptest.NewServer(modules(name))
			servers, names = append(servers, s), append(names, s.URL)
		default:
			names = append(names, name)
		}
	}

	if len(names) == 0 {
		names = []string{"off"}
	}

	return strings.Join(names, "|"), func() {
		for _, s := range servers {
			s.Close()
		}
	}, nil
}

// A modules is the URL of a module proxy, to which it forwards requests.
type modules string

// ServeHTTP forwards the request to the proxy.
func (m modules) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	response, err := m.ask(r.Context(), r)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)

		return
	}
	defer response.Body.Close()

	w.WriteHeader(response.StatusCode)
	_, _ = io.Copy(w, response.Body)
}

func (m modules) ask(ctx context.Context, r *http.Request) (*http.Response, error) {
	request, err := http.NewRequestWithContext(ctx, r.Method, strings.TrimSuffix(string(m), "/")+r.URL.RequestURI(), nil)
	if err != nil {
		return nil, err
	}

	return http.DefaultClient.Do(request)
}
