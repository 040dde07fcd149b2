package changelog

import (
	"context"
	"maps"
	"sync"
)

// Details collect what a client of an external system wants the change log to
// tell of an operation. The zero value is ready to use, concurrently.
type Details struct {
	mu   sync.Mutex
	told map[string]string
}

type detailsKey struct{}

// WithDetails returns a context in which Detail adds to d. A reconciler calls it
// for each operation.
func WithDetails(ctx context.Context, d *Details) context.Context {
	return context.WithValue(ctx, detailsKey{}, d)
}

// Detail adds something to the entry of the operation that ctx belongs to, such as
// the id of the request. Call it in Create, Update or Delete with the context they
// were given. Without a change log it does nothing. At most 64 details are kept,
// redacted and bounded like errors.
func Detail(ctx context.Context, key, value string) {
	d, ok := ctx.Value(detailsKey{}).(*Details)
	if !ok {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.told == nil {
		d.told = map[string]string{}
	}
	if _, known := d.told[key]; known || len(d.told) < maxDetails {
		d.told[key] = value
	}
}

// Told returns what was added so far, or nil.
func (d *Details) Told() map[string]string {
	d.mu.Lock()
	defer d.mu.Unlock()

	return maps.Clone(d.told)
}
