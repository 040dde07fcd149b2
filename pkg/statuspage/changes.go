package statuspage

import (
	"bytes"
	"context"
	"encoding/json"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/pkg/changelog"
	"github.com/moorage-dev/moorage/pkg/difference"
	"github.com/moorage-dev/moorage/pkg/errors"
)

// maxChanges is how many changes of external resources are remembered.
const maxChanges = 100

// A change is a change of an external resource, redacted. Its JSON is that of a changelog.Entry.
type change struct {
	Time   time.Time `json:"time"`
	Object struct {
		Kind      string    `json:"kind"`
		Namespace string    `json:"namespace"`
		Name      string    `json:"name"`
		UID       types.UID `json:"uid"`
	} `json:"object"`
	ExternalName string                `json:"externalName"`
	Operation    string                `json:"operation"`
	Cause        string                `json:"cause"`
	Error        string                `json:"error"`
	Differences  []commonv1.Difference `json:"differences"`
}

// A changeLog remembers the last changes. The zero value has none. It is safe for concurrent use.
type changeLog struct {
	mu    sync.Mutex
	last  []change // the oldest first
	total uint64
}

// Record implements changelog.Sink.
func (l *changeLog) Record(ctx context.Context, e changelog.Entry) error {
	var line bytes.Buffer
	e.Before, e.After, e.Details = nil, nil, nil
	if err := changelog.NewJSON(&line).Record(ctx, e); err != nil { // which redacts the entry
		return err
	}
	var c change
	if err := json.Unmarshal(line.Bytes(), &c); err != nil {
		return errors.Wrap(err, "cannot remember a change for the status page")
	}
	for _, text := range []*string{&c.Object.Kind, &c.Object.Namespace, &c.Object.Name, &c.ExternalName, &c.Operation,
		&c.Cause, &c.Error} {
		*text = shown(*text)
	}
	c.Differences, _ = difference.Clean(c.Differences, nil)
	c.Differences = c.Differences[:min(len(c.Differences), maxFields)]
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.last) == maxChanges {
		l.last = append(l.last[:0:0], l.last[1:]...)
	}
	l.last, l.total = append(l.last, c), l.total+1

	return nil
}

// read returns the last changes, the newest last, and how many there were in total. They must not be changed.
func (l *changeLog) read() ([]change, uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()

	return l.last[:len(l.last):len(l.last)], l.total
}
