// Package changelog records the changes that a provider makes in the external system. An entry has an operation, the
// object before and after the operation, and the result of the operation.
//
// Start with a Sink. NewJSON writes lines to a writer such as the standard output, and OpenFile to a file. NewEvents
// records Kubernetes events. Multi combines several sinks. Put NewQueue in front of the sink, and add the queue to
// the manager. The change log then never delays or fails a reconcile. An entry is recorded after the result of the
// operation is stored in the object.
//
// Entries contain no known secrets. Image redacts an object, and every sink and the queue redact their entries again.
// A secret is recognized by its key, by its form, or by the masks given to Image. An undeclared secret that looks
// like a word is not recognized.
package changelog

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/internal/redact"
	"github.com/moorage-dev/moorage/pkg/difference"
	"github.com/moorage-dev/moorage/pkg/errors"
)

// An Operation is an operation on an external resource.
type Operation string

// The operations.
const (
	// OperationCreate created an external resource.
	OperationCreate Operation = "Create"

	// OperationUpdate changed an external resource.
	OperationUpdate Operation = "Update"

	// OperationDelete requested the deletion of an external resource.
	OperationDelete Operation = "Delete"
)

// A Cause is why a provider changed an external resource.
type Cause string

// The causes. The causes drift and missing are exactly the changes that the metric moorage_managed_drifts_total counts,
// if the reconciler answers them: each counted drift has at most one entry with its cause.
const (
	// CauseSpec is the cause of an Update to a resource that does not have the state of the spec yet: the spec has
	// changed, the resource was adopted, or Create did not set all fields.
	CauseSpec Cause = "spec"

	// CauseDrift is the cause of an Update to a resource that others have changed since it was as desired.
	CauseDrift Cause = "drift"

	// CauseMissing is the cause of a Create in place of a resource that others have deleted since it was as desired.
	CauseMissing Cause = "missing"

	// CauseCreated is the cause of any other Create: the object has no external resource.
	CauseCreated Cause = "created"

	// CauseDeleted is the cause of a Delete: the object is deleted.
	CauseDeleted Cause = "deleted"

	// CauseRetry is the cause of an operation that was tried for the same generation of the object before. The earlier
	// operation failed, or no observation has shown its effect.
	CauseRetry Cause = "retry"
)

// An Entry records one operation and its result. Operation and Name are required. The JSON form of an Entry is stable:
// new fields may be added, and existing fields keep their names and meaning.
type Entry struct {
	// Time of the operation.
	Time time.Time

	// Provider and its version.
	Provider        string
	ProviderVersion string

	// The object of the operation.
	GroupVersionKind schema.GroupVersionKind
	Namespace        string
	Name             string
	UID              types.UID

	// ExternalName of the resource, once it is known.
	ExternalName string

	// Operation is the kind of change.
	Operation Operation

	// Generation of the object that the operation was made for. Zero means that it is not known.
	Generation int64

	// Cause is why the operation was made. It is empty if it is not known.
	Cause Cause

	// Differences are the fields that an Update was to correct, as the observation before it found them. There are at
	// most 64, sorted by path. They are nil if the client of the external system does not name them.
	Differences []commonv1.Difference

	// Attempt identifies a create among the creates of the same object. It is empty for other operations.
	Attempt string

	// Before and After are the JSON of the object, as Image returns it. Before is the state after the observation. After
	// is the state at the end of the reconcile. Nil means that the state is not recorded.
	Before json.RawMessage
	After  json.RawMessage

	// Error is the redacted and truncated error. It is empty if the operation
	// succeeded.
	Error string

	// Details reported by the client of the external system, see Detail.
	Details map[string]string
}

// A Sink records entries. It must be safe for concurrent use.
type Sink interface {
	// Record records the entry. It may block until ctx ends. Neither the caller nor the sink changes the maps and the
	// JSON of the entry afterwards.
	Record(ctx context.Context, e Entry) error
}

// A SinkFunc is a function that implements Sink.
type SinkFunc func(ctx context.Context, e Entry) error

// Record calls the function.
func (f SinkFunc) Record(ctx context.Context, e Entry) error { return f(ctx, e) }

// entryJSON is the JSON form of an Entry.
type entryJSON struct {
	Time         time.Time             `json:"time"`
	Provider     *providerJSON         `json:"provider,omitempty"`
	Object       objectJSON            `json:"object"`
	ExternalName string                `json:"externalName,omitempty"`
	Operation    Operation             `json:"operation"`
	Generation   int64                 `json:"generation,omitempty"`
	Cause        Cause                 `json:"cause,omitempty"`
	Attempt      string                `json:"attempt,omitempty"`
	Differences  []commonv1.Difference `json:"differences,omitempty"`
	Error        string                `json:"error,omitempty"`
	Details      map[string]string     `json:"details,omitempty"`
	Before       json.RawMessage       `json:"before,omitempty"`
	After        json.RawMessage       `json:"after,omitempty"`
}

// providerJSON is the JSON form of the provider of an Entry.
type providerJSON struct {
	Name    string `json:"name"`
	Version string `json:"version,omitempty"`
}

// objectJSON is the JSON form of the object of an Entry.
type objectJSON struct {
	APIVersion string    `json:"apiVersion,omitempty"`
	Kind       string    `json:"kind,omitempty"`
	Namespace  string    `json:"namespace,omitempty"`
	Name       string    `json:"name"`
	UID        types.UID `json:"uid,omitempty"`
}

// MarshalJSON returns the entry as one JSON object.
func (e Entry) MarshalJSON() ([]byte, error) {
	apiVersion, kind := e.GroupVersionKind.ToAPIVersionAndKind()
	w := entryJSON{
		Time:         e.Time,
		Object:       objectJSON{APIVersion: apiVersion, Kind: kind, Namespace: e.Namespace, Name: e.Name, UID: e.UID},
		ExternalName: e.ExternalName,
		Operation:    e.Operation,
		Generation:   e.Generation,
		Cause:        e.Cause,
		Attempt:      e.Attempt,
		Differences:  e.Differences,
		Error:        e.Error,
		Details:      e.Details,
		Before:       e.Before,
		After:        e.After,
	}

	if e.Provider != "" || e.ProviderVersion != "" {
		w.Provider = &providerJSON{Name: e.Provider, Version: e.ProviderVersion}
	}

	b, err := json.Marshal(w)

	return b, errors.Wrap(err, "cannot encode change log entry")
}

// UnmarshalJSON decodes the JSON of MarshalJSON.
func (e *Entry) UnmarshalJSON(b []byte) error {
	var w entryJSON
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
		Generation:       w.Generation,
		Cause:            w.Cause,
		Differences:      w.Differences,
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

// redacted returns a copy of the entry without texts that look like secrets. Redacting
// twice changes nothing.
func (e Entry) redacted() Entry {
	cause := string(e.Cause)
	for _, text := range []*string{&cause, &e.Error, &e.Provider, &e.ProviderVersion, &e.ExternalName, &e.Attempt} {
		*text = redact.String(*text)
	}
	e.Cause = Cause(cause)
	e.Differences, _ = difference.Clean(e.Differences, nil)
	e.Details = redactedDetails(e.Details)
	e.Before, e.After = redactedImage(e.Before), redactedImage(e.After)

	return e
}

// maxDetails is the greatest number of details of an entry.
const maxDetails = 64

// redactedDetails returns a redacted copy of the details, with at most maxDetails of
// them.
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
			v = redactedText
		}

		kept[redact.String(k)] = v
	}

	return kept
}
