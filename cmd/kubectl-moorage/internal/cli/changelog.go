package cli

import (
	"bufio"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/moorage-dev/moorage/cmd/kubectl-moorage/internal/cluster"
	"github.com/moorage-dev/moorage/cmd/kubectl-moorage/internal/object"
	"github.com/moorage-dev/moorage/cmd/kubectl-moorage/internal/text"
)

// A logEntry is a line of a change log of a provider (pkg/changelog), without the states of the object, which may be
// long and have secrets.
type logEntry struct {
	Time   metav1.Time `json:"time"`
	Object struct {
		APIVersion string `json:"apiVersion"`
		Kind       string `json:"kind"`
		Namespace  string `json:"namespace"`
		Name       string `json:"name"`
	} `json:"object"`
	ExternalName string              `json:"externalName"`
	Operation    string              `json:"operation"`
	Error        string              `json:"error"`
	Cause        string              `json:"cause"`
	Differences  []object.Difference `json:"differences"`
}

// maxLine is how long a line of a change log may be: an entry has the object before and after a change.
const maxLine = 8 << 20

// readChanges returns the entries about an object. Lines that are no entries are ignored: a log of a provider has them
// as well.
func readChanges(in io.Reader, k cluster.Kind, namespace, name string) (out []moment, err error) {
	r := bufio.NewReaderSize(in, maxLine)

	for {
		line, err := r.ReadSlice('\n')
		if errors.Is(err, bufio.ErrBufferFull) {
			line, err = nil, discard(r)
		}

		if m, ok := entryOf(line, k, namespace, name); ok {
			out = append(out, m)
		}

		switch {
		case errors.Is(err, io.EOF):
			return out, nil
		case err != nil:
			return nil, err
		}
	}
}

// entryOf returns a line of a change log, if it is one about the object. A line of a log may have another text before
// the entry.
func entryOf(line []byte, k cluster.Kind, namespace, name string) (moment, bool) {
	begin := strings.IndexByte(string(line), '{')
	if begin < 0 {
		return moment{}, false
	}

	var e logEntry
	if json.Unmarshal(line[begin:], &e) != nil {
		return moment{}, false
	}

	group, _, _ := strings.Cut(e.Object.APIVersion, "/")
	if e.Operation == "" || e.Object.Kind != k.Name || group != k.Resource.Group || e.Object.Name != name ||
		e.Object.Namespace != namespace {
		return moment{}, false
	}

	what := e.Operation + " succeeded"
	if e.Error != "" {
		what = e.Operation + " failed"
	}

	if e.Cause != "" {
		what += " (" + e.Cause + ")"
	}

	message := cmp.Or(e.Error, fmt.Sprintf("external name %q", e.ExternalName))

	object.Clean(e.Differences)

	return moment{
		Time: e.Time, Source: "change log", What: text.Line(what), Message: text.Line(message),
		Cause: text.Line(e.Cause), Differences: e.Differences,
	}, true
}

// message returns the message of a moment, with the fields of a change: the desired value, and the value that the
// external resource had.
func (c *console) message(m moment) string {
	const most = 8

	shown := len(m.Differences)
	if !c.wide() {
		shown = min(shown, most)
	}

	var fields []string

	for _, f := range m.Differences[:shown] {
		values := fmt.Sprintf(" %s <- %s", c.value(f, f.Desired), c.value(f, f.Observed))
		if f.Sensitive {
			values = " (sensitive)"
		}

		fields = append(fields, fieldPath(f)+values)
	}

	if more := len(m.Differences) - shown; more > 0 {
		fields = append(fields, fmt.Sprintf("and %d more", more))
	}

	if len(fields) == 0 {
		return m.Message
	}

	return m.Message + ": " + strings.Join(fields, ", ")
}

// discard reads the rest of a line that is too long.
func discard(r io.RuneReader) error {
	for {
		if c, _, err := r.ReadRune(); err != nil || c == '\n' {
			return err
		}
	}
}
