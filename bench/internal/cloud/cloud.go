// Package cloud is the external system of the benchmark: widgets in memory, behind an API with a configurable latency.
// It knows creation tokens, so that a create can be repeated, and pages, so that one call can return many widgets.
package cloud

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

// PageSize is the number of widgets in a page.
const PageSize = 256

// ErrNotFound is returned for a widget that does not exist.
var ErrNotFound = errors.New("there is no such widget")

// ErrNoLists is returned for a page while lists are disabled.
var ErrNoLists = errors.New("there are no lists at the moment")

// A Widget is an external resource.
type Widget struct {
	ID   string
	Size int64
}

// A Listed is a widget as a page shows it.
type Listed struct {
	Widget

	At time.Time // when it was in this state
}

// A Cloud is the external system. The zero value is empty and answers at once. It may be used concurrently.
type Cloud struct {
	latency atomic.Int64
	noLists atomic.Bool

	mu      sync.Mutex
	widgets map[string]*record
	ids     []string // of widgets, sorted, so that a page is cheap for this process
	byToken map[string]string
	last    int
	calls   map[string]int
	perSec  map[int64]int // calls, by the second
	applied map[int64]time.Time
	oldest  time.Duration
	served  int
}

type record struct {
	Widget

	token string
	seen  time.Time // the time of the newest state that a client has read
}

// SetLatency sets how long each call takes from now on.
func (c *Cloud) SetLatency(d time.Duration) { c.latency.Store(int64(d)) }

// SetLists enables or disables lists from now on.
func (c *Cloud) SetLists(are bool) { c.noLists.Store(!are) }

func (c *Cloud) call(ctx context.Context, name string) error {
	c.mu.Lock()
	if c.calls == nil {
		c.reset()
	}
	now := time.Now()
	c.calls[name]++
	c.perSec[now.Unix()]++
	c.mu.Unlock()
	d := time.Duration(c.latency.Load())
	if d == 0 {
		return ctx.Err()
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Find returns the widget of an id, or ErrNotFound.
func (c *Cloud) Find(ctx context.Context, id string) (Widget, error) {
	if err := c.call(ctx, "Find"); err != nil {
		return Widget{}, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	r := c.widgets[id]
	if r == nil {
		return Widget{}, ErrNotFound
	}
	c.observed(r, time.Now())

	return r.Widget, nil
}

// observed records that a client now knows the state that the widget had at a time.
func (c *Cloud) observed(r *record, at time.Time) {
	c.oldest = max(c.oldest, time.Since(r.seen))
	if at.After(r.seen) {
		r.seen = at
	}
}

// Make creates a widget and returns its id: the given one, or one of the cloud's choice. A repeated call with the same
// token, or for the same id, creates nothing.
func (c *Cloud) Make(ctx context.Context, id, token string, size int64) (string, error) {
	if err := c.call(ctx, "Make"); err != nil {
		return "", err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if made := c.byToken[token]; token != "" && made != "" {
		return made, nil
	}
	if id == "" {
		c.last++
		id = "widget-" + strconv.Itoa(c.last)
	}
	if c.widgets == nil {
		c.widgets, c.byToken = map[string]*record{}, map[string]string{}
	}
	if c.widgets[id] == nil {
		c.widgets[id] = &record{Widget: Widget{ID: id, Size: size}, token: token, seen: time.Now()}
		i, _ := slices.BinarySearch(c.ids, id)
		c.ids = slices.Insert(c.ids, i, id)
	}
	if token != "" {
		c.byToken[token] = id
	}

	return id, nil
}

// Change changes a widget.
func (c *Cloud) Change(ctx context.Context, id string, size int64) error {
	if err := c.call(ctx, "Change"); err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	r := c.widgets[id]
	if r == nil {
		return ErrNotFound
	}
	r.Size = size
	if _, known := c.applied[size]; !known {
		c.applied[size] = time.Now()
	}

	return nil
}

// Remove removes a widget, if it exists.
func (c *Cloud) Remove(ctx context.Context, id string) error {
	if err := c.call(ctx, "Remove"); err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if r := c.widgets[id]; r != nil {
		delete(c.byToken, r.token)
		delete(c.widgets, id)
		i, _ := slices.BinarySearch(c.ids, id)
		c.ids = slices.Delete(c.ids, i, i+1)
	}

	return nil
}

// Page returns the widgets of a page, sorted by id, and the token of the next page, which is empty after the last
// page.
func (c *Cloud) Page(ctx context.Context, after string) (page []Listed, next string, err error) {
	if err := c.call(ctx, "Page"); err != nil {
		return nil, "", err
	}
	if c.noLists.Load() {
		return nil, "", ErrNoLists
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	now := time.Now()
	from, _ := slices.BinarySearch(c.ids, after+"\x00")
	to := min(from+PageSize, len(c.ids))
	for _, id := range c.ids[from:to] {
		page = append(page, Listed{Widget: c.widgets[id].Widget, At: now})
	}
	if to < len(c.ids) {
		next = c.ids[to-1]
	}

	return page, next, nil
}

// Serve counts an observation that needed no call, because a page contained the widget.
func (c *Cloud) Serve(l Listed) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.served++
	if r := c.widgets[l.ID]; r != nil {
		c.observed(r, l.At)
	}
}

// Len returns how many widgets there are.
func (c *Cloud) Len() int {
	c.mu.Lock()
	defer c.mu.Unlock()

	return len(c.widgets)
}

// Counts are the figures since the last Reset.
type Counts struct {
	Calls   map[string]int
	Served  int                 // observations that needed no call
	Busiest int                 // calls in the busiest second
	Oldest  time.Duration       // the greatest age that the known state of a widget had
	Applied map[int64]time.Time // when a size was set for the first time
}

// Looks returns the number of observations, by a call or in a page.
func (c Counts) Looks() int { return c.Calls["Find"] + c.Served }

// Counts returns the figures since the last Reset.
func (c *Cloud) Counts() Counts {
	c.mu.Lock()
	defer c.mu.Unlock()
	out := Counts{Calls: maps.Clone(c.calls), Served: c.served, Oldest: c.oldest, Applied: maps.Clone(c.applied)}
	for _, n := range c.perSec {
		out.Busiest = max(out.Busiest, n)
	}
	for _, r := range c.widgets {
		out.Oldest = max(out.Oldest, time.Since(r.seen))
	}

	return out
}

// Reset sets the figures to zero.
func (c *Cloud) Reset() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.reset()
	for _, r := range c.widgets {
		r.seen = time.Now()
	}
}

func (c *Cloud) reset() {
	c.served = 0
	c.calls, c.perSec, c.applied, c.oldest = map[string]int{}, map[int64]int{}, map[int64]time.Time{}, 0
}
