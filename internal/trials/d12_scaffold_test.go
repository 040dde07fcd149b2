package trials

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// The program calls Create of the client of a new project, and prints each answer of the API
// that the client wrongly takes for a success, or for proof that nothing was created.
const program = `package main

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"

	"github.com/moorage-dev/moorage/internal/trials/answers/api"
	"github.com/moorage-dev/moorage/pkg/external"
)

func main() {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		code, err := strconv.Atoi(strings.TrimPrefix(r.URL.Path, "/"))
		if err != nil {
			fmt.Fprint(w, "{}")
			return
		}
		w.Header().Set("Location", "/elsewhere")
		w.WriteHeader(code)
	}))
	defer server.Close()
	for _, code := range []int{301, 302, 303} {
		if err := api.Ask(context.Background(), server.URL, code); err == nil {
			fmt.Println(code, "is taken for a creation")
		}
	}
	for _, code := range []int{408, 499} {
		if err := api.Ask(context.Background(), server.URL, code); err == nil || external.IsNotCreated(err) {
			fmt.Println(code, "is taken for: surely not created")
		}
	}
	for _, code := range []int{400, 403, 422, 429} {
		if err := api.Ask(context.Background(), server.URL, code); !external.IsNotCreated(err) {
			fmt.Println(code, "is not taken for: surely not created")
		}
	}
}
`

const ask = `package api

import (
	"context"
	"fmt"
	"net/http"
)

// Ask calls Create, which the API answers with a code.
func Ask(ctx context.Context, url string, code int) error {
	return New(url, "").call(ctx, request{method: http.MethodPost, path: fmt.Sprintf("/%d", code), body: struct{}{}})
}
`

// TestD12AnswersToACreation checks that the client of a new project takes only the right
// answers for proof that nothing was created: not a timeout, which a gateway may send after the
// effect. A redirected creation is no creation.
func TestD12AnswersToACreation(t *testing.T) {
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	dir, replaced := t.TempDir(), map[string]string{}
	put := func(path, text string) {
		file := filepath.Join(dir, strings.ReplaceAll(path, "/", "_"))
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		replaced[filepath.Join(root, "internal/trials/answers", path)] = file
	}
	put("main.go", program)
	put("api/ask.go", ask)
	templates, err := filepath.Glob(filepath.Join(root,
		"cmd/moorage/internal/scaffold/templates/http/internal/api/*.go.tmpl"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range templates {
		name := strings.TrimSuffix(filepath.Base(file), ".tmpl")
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.HasSuffix(name, "_test.go") && name != "fake.go" { // without the fake API
			put("api/"+name, string(text))
		}
	}
	overlay, err := json.Marshal(map[string]any{"Replace": replaced})
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(file, overlay, 0o600); err != nil {
		t.Fatal(err)
	}
	run := exec.CommandContext(t.Context(), "go", "run", "-overlay", file, "./internal/trials/answers")
	run.Dir = root
	out, err := run.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if len(out) > 0 {
		t.Errorf("the client misunderstands:\n%s", out)
	}
}
