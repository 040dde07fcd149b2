package systemtest

import (
	"context"
	"encoding/json"
	"regexp"
	"strings"
	"sync"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"

	"github.com/moorage-dev/moorage/pkg/changelog"
)

// canary is a part of every credential in these tests. It must not appear anywhere.
const canary = "canary-7f3a9"

// A journal reads the log of the process, at a higher level than that of --debug: it counts the passes over
// each object, and keeps the lines with a credential. At still higher levels client-go dumps everything
// that it reads.
type journal struct {
	mu     sync.Mutex
	passes map[string]int
	leaks  []string
}

// begun is the message of controller-runtime at the begin of a pass.
var begun = regexp.MustCompile(`"msg"="Reconciling" .*"namespace"="([^"]+)" "name"="([^"]+)"`)

func (j *journal) logger() logr.Logger {
	return funcr.New(func(prefix, args string) { j.write(prefix + " " + args) }, funcr.Options{Verbosity: 5})
}

func (j *journal) write(line string) {
	j.mu.Lock()
	defer j.mu.Unlock()

	if strings.Contains(line, canary) {
		j.leaks = append(j.leaks, line)
	}

	if m := begun.FindStringSubmatch(line); m != nil {
		j.passes[m[1]+"/"+m[2]]++
	}
}

// count returns the number of passes over an object.
func (j *journal) count(namespace, name string) int {
	j.mu.Lock()
	defer j.mu.Unlock()

	return j.passes[namespace+"/"+name]
}

// leaked returns the lines with a credential, each of them once.
func (j *journal) leaked() []string {
	j.mu.Lock()
	defer j.mu.Unlock()

	leaks := j.leaks
	j.leaks = nil

	return leaks
}

// A record is a change log in memory. It may be used concurrently; the zero value is empty.
type record struct {
	mu      sync.Mutex
	entries []changelog.Entry
}

// Record keeps an entry.
func (r *record) Record(_ context.Context, e changelog.Entry) error {
	r.mu.Lock()
	defer r.mu.Unlock()

	r.entries = append(r.entries, e)

	return nil
}

// count returns the number of operations of a kind in a namespace.
func (r *record) count(namespace, kind string, operation changelog.Operation) int {
	r.mu.Lock()
	defer r.mu.Unlock()

	n := 0

	for _, e := range r.entries {
		if e.Namespace == namespace && e.GroupVersionKind.Kind == kind && e.Operation == operation {
			n++
		}
	}

	return n
}

// leaked returns the entries with a credential, as they would be written.
func (r *record) leaked() []string {
	r.mu.Lock()
	defer r.mu.Unlock()

	var out []string

	for _, e := range r.entries {
		line, err := json.Marshal(e)
		if err != nil || strings.Contains(string(line), canary) {
			out = append(out, string(line))
		}
	}

	return out
}
