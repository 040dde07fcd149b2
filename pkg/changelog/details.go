package changelog

import (
	"context"
	"maps"
	"sync"
)

// Details collects the details that a client reports about an operation for the change log. The zero value is ready
// to use. It is safe for concurrent use.
type Details struct {
	mu     sync.Mutex
	values map[string]string
}

// detailsKey is the key of Details in a context.
type detailsKey struct{}

// WithDetails returns a context in which Detail adds to d. The reconciler calls it for each operation.
func WithDetails(ctx context.Context, d *Details) context.Context {
	return context.WithValue(ctx, detailsKey{}, d)
}

// Detail adds a detail, such as the ID of the request, to the change log entry of the operation of ctx. Call it in
// Create, Update or Delete with their context. Without a change log it does nothing. At most 64 details are kept.
// They are redacted and limited in length like errors.
func Detail(ctx context.Context, key, value string) {
	d, ok := ctx.Value(detailsKey{}).(*Details)
	if !ok {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.values == nil {
		d.values = map[string]string{}
	}
	if _, known := d.values[key]; known || len(d.values) < maxDetails {
		d.values[key] = value
	}
}

// Values returns a copy of the details added so far, or nil.
func (d *Details) Values() map[string]string {
	d.mu.Lock()
	defer d.mu.Unlock()

	return maps.Clone(d.values)
}
