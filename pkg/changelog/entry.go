// Package changelog keeps a record of what was changed outside: which operation
// was made for which object, what the object looked like before and after, and
// how it ended.
//
// Begin with a Sink: NewJSON writes lines to the standard output, OpenFile to a
// file, NewEvents makes Kubernetes events, and Multi takes several. Put NewQueue
// in front of it and add the queue to the manager: a record then never delays a
// reconcile, and never fails one. An entry is recorded after the object's own
// bookkeeping is stored, never between an external effect and its record.
//
// Entries hold no secrets: Image takes them out of an object, and every sink and
// the queue look once more at what they are given. What is secret is known by its
// key, by its look, and by the masks that Image is given; a secret that nobody
// declared and that looks like a word is not found.
package changelog

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/moorage-dev/moorage/internal/redact"
	"github.com/moorage-dev/moorage/pkg/errors"
)

// An Operation is what was done outside.
type Operation string

// The operations there are.
const (
	// OperationCreate created an external resource.
	OperationCreate Operation = "Create"

	// OperationUpdate changed one.
	OperationUpdate Operation = "Update"

	// OperationDelete deleted one, or began to.
	OperationDelete Operation = "Delete"
)

// An Entry tells of one operation that was made, whether it succeeded or not.
// Operation and Name are required. Its JSON form is stable: fields are added, but
// keep their names and meaning.
type Entry struct {
	// Time at which the operation was made.
	Time time.Time

	// Provider that made it, and its version.
	Provider        string
	ProviderVersion string

	// The object for which it was made.
	GroupVersionKind schema.GroupVersionKind
	Namespace        string
	Name             string
	UID              types.UID

	// ExternalName of the resource, once it is known.
	ExternalName string

	// Operation that was made.
	Operation Operation

	// Attempt identifies a create among those of the same object. It is empty
	// for other operations.
	Attempt string

	// Before and After are images of the object, as Image returns them: when the
	// external resource had been observed, and when the pass was over. Nil is no
	// image.
	Before json.RawMessage
	After  json.RawMessage

	// Error is why the operation failed, redacted and bounded. It is empty if it
	// succeeded.
	Error string

	// Details that the client of the external system told, see Detail.
	Details map[string]string
}

// A Sink is where entries go. It may be called concurrently.
type Sink interface {
	// Record the entry. It may block until ctx ends. The entry's maps and images
	// are not changed by either side afterwards.
	Record(ctx context.Context, e Entry) error
}

// A SinkFunc is a function that is a Sink.
type SinkFunc func(ctx context.Context, e Entry) error

// Record calls the function.
func (f SinkFunc) Record(ctx context.Context, e Entry) error { return f(ctx, e) }

// wire is the JSON form of an Entry.
type wire struct {
	Time         time.Time         `json:"time"`
	Provider     *wireProvider     `json:"provider,omitempty"`
	Object       wireObject        `json:"object"`
	ExternalName string            `json:"externalName,omitempty"`
	Operation    Operation         `json:"operation"`
	Attempt      string            `json:"attempt,omitempty"`
	Error        string            `json:"error,omitempty"`
	Details      map[string]string `json:"details,omitempty"`
	Before       json.RawMessage   `json:"before,omitempty"`
	After        json.RawMessage   `json:"after,omitempty"`
}

type wireProvider struct {
	Name    string `json:"name"`
	Version string `json:"version,omitempty"`
}

type wireObject struct {
	APIVersion string    `json:"apiVersion,omitempty"`
	Kind       string    `json:"kind,omitempty"`
	Namespace  string    `json:"namespace,omitempty"`
	Name       string    `json:"name"`
	UID        types.UID `json:"uid,omitempty"`
}

// MarshalJSON returns the entry as one JSON object.
func (e Entry) MarshalJSON() ([]byte, error) {
	apiVersion, kind := e.GroupVersionKind.ToAPIVersionAndKind()
	w := wire{
		Time:         e.Time,
		Object:       wireObject{APIVersion: apiVersion, Kind: kind, Namespace: e.Namespace, Name: e.Name, UID: e.UID},
		ExternalName: e.ExternalName,
		Operation:    e.Operation,
		Attempt:      e.Attempt,
		Error:        e.Error,
		Details:      e.Details,
		Before:       e.Before,
		After:        e.After,
	}

	if e.Provider != "" || e.ProviderVersion != "" {
		w.Provider = &wireProvider{Name: e.Provider, Version: e.ProviderVersion}
	}

	b, err := json.Marshal(w)

	return b, errors.Wrap(err, "cannot encode change log entry")
}

// UnmarshalJSON reads what MarshalJSON returned.
func (e *Entry) UnmarshalJSON(b []byte) error {
	var w wire
	if err := json.Unmarshal(b, &w); err != nil {
		return errors.Wrap(err, "cannot decode change log entry")
	}

	*e = Entry{
		Time:             w.Time,
		GroupVersionKind: schema.FromAPIVersionAndKind(w.Object.APIVersion, w.Object.Kind),
		Namespace:        w.Object.Namespace,
		Name:             w.Object.Name,
		UID:              w.Object.UID,
		ExternalName:     w.ExternalName,
		Operation:        w.Operation,
		Attempt:          w.Attempt,
		Before:           w.Before,
		After:            w.After,
		Error:            w.Error,
		Details:          w.Details,
	}
	if w.Provider != nil {
		e.Provider, e.ProviderVersion = w.Provider.Name, w.Provider.Version
	}

	return nil
}

// redacted returns a copy of the entry without what looks like a secret. An entry
// that was redacted stays as it is.
func (e Entry) redacted() Entry {
	for _, text := range []*string{&e.Error, &e.Provider, &e.ProviderVersion, &e.ExternalName, &e.Attempt} {
		*text = redact.String(*text)
	}
	e.Details = redactedDetails(e.Details)
	e.Before, e.After = redactedImage(e.Before), redactedImage(e.After)

	return e
}

// maxDetails bounds what a client can tell.
const maxDetails = 64

func redactedDetails(details map[string]string) map[string]string {
	if len(details) == 0 {
		return nil
	}

	kept := make(map[string]string, min(len(details), maxDetails))

	for _, k := range slices.Sorted(maps.Keys(details)) {
		if len(kept) == maxDetails {
			break
		}

		v := redact.String(details[k])
		if redact.IsSecretKey(k) && v != "" {
			v = masked
		}

		kept[redact.String(k)] = v
	}

	return kept
}
