// Package cloud is the external system of the benchmark: buoys in memory, behind an
// API that takes as long as it is told to. It knows tokens, so that a create can be
// repeated, and pages of everything there is, so that one call can tell of many.
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

// PageSize is how many buoys a page tells of.
const PageSize = 256

// ErrNotFound is returned for a buoy that there is not.
var ErrNotFound = errors.New("there is no such buoy")

// ErrNoLists is returned for a page by a cloud that is not to be listed.
var ErrNoLists = errors.New("there are no lists at the moment")

// A Buoy is what exists.
type Buoy struct {
	ID   string
	Size int64
}

// A Listed is a buoy as a page shows it.
type Listed struct {
	Buoy

	At time.Time // when it was so
}

// A Cloud is the external system. The zero value is empty and answers at once. It may
// be used concurrently.
type Cloud struct {
	latency atomic.Int64
	noLists atomic.Bool

	mu      sync.Mutex
	buoys   map[string]*record
	ids     []string // of buoys, sorted: a page is not to cost this process more than another's
	byToken map[string]string
	last    int
	calls   map[string]int
	perSec  map[int64]int // calls, by the second
	applied map[int64]time.Time
	oldest  time.Duration
	served  int
}

type record struct {
	Buoy

	token string
	seen  time.Time // when it was as whoever looked last knows it
}

// SetLatency sets how long each call takes from now on.
func (c *Cloud) SetLatency(d time.Duration) { c.latency.Store(int64(d)) }

// SetLists sets whether there are lists from now on.
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

// Find returns the buoy of an id, or ErrNotFound.
func (c *Cloud) Find(ctx context.Context, id string) (Buoy, error) {
	if err := c.call(ctx, "Find"); err != nil {
		return Buoy{}, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	r := c.buoys[id]
	if r == nil {
		return Buoy{}, ErrNotFound
	}
	c.look(r, time.Now())

	return r.Buoy, nil
}

// look notes that somebody now knows how the buoy was at some time.
func (c *Cloud) look(r *record, at time.Time) {
	c.oldest = max(c.oldest, time.Since(r.seen))
	if at.After(r.seen) {
		r.seen = at
	}
}

// Make makes a buoy and returns its id: the one given, or else one of the cloud's
// choice. What was made with the same token, or under the same id, is not made
// again.
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
		id = "buoy-" + strconv.Itoa(c.last)
	}
	if c.buoys == nil {
		c.buoys, c.byToken = map[string]*record{}, map[string]string{}
	}
	if c.buoys[id] == nil {
		c.buoys[id] = &record{Buoy: Buoy{ID: id, Size: size}, token: token, seen: time.Now()}
		i, _ := slices.BinarySearch(c.ids, id)
		c.ids = slices.Insert(c.ids, i, id)
	}
	if token != "" {
		c.byToken[token] = id
	}

	return id, nil
}

// Change changes a buoy.
func (c *Cloud) Change(ctx context.Context, id string, size int64) error {
	if err := c.call(ctx, "Change"); err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	r := c.buoys[id]
	if r == nil {
		return ErrNotFound
	}
	r.Size = size
	if _, known := c.applied[size]; !known {
		c.applied[size] = time.Now()
	}

	return nil
}

// Remove removes a buoy, if there is one.
func (c *Cloud) Remove(ctx context.Context, id string) error {
	if err := c.call(ctx, "Remove"); err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if r := c.buoys[id]; r != nil {
		delete(c.byToken, r.token)
		delete(c.buoys, id)
		i, _ := slices.BinarySearch(c.ids, id)
		c.ids = slices.Delete(c.ids, i, i+1)
	}

	return nil
}

// Page returns the buoys of a page, sorted by id, and from where the next one
// starts: nothing after the last.
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
		page = append(page, Listed{Buoy: c.buoys[id].Buoy, At: now})
	}
	if to < len(c.ids) {
		next = c.ids[to-1]
	}

	return page, next, nil
}

// Serve counts a look at a buoy that needed no call, because a page had told of it.
func (c *Cloud) Serve(l Listed) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.served++
	if r := c.buoys[l.ID]; r != nil {
		c.look(r, l.At)
	}
}

// Len returns how many buoys there are.
func (c *Cloud) Len() int {
	c.mu.Lock()
	defer c.mu.Unlock()

	return len(c.buoys)
}

// Counts are what happened since the last Reset.
type Counts struct {
	Calls   map[string]int
	Served  int                 // looks that needed no call
	Busiest int                 // calls in the busiest second
	Oldest  time.Duration       // the longest time for which nothing newer was known of a buoy
	Applied map[int64]time.Time // when a size was set for the first time
}

// Looks returns how often somebody looked at a buoy, by a call or in a page.
func (c Counts) Looks() int { return c.Calls["Find"] + c.Served }

// Counts returns what happened since the last Reset.
func (c *Cloud) Counts() Counts {
	c.mu.Lock()
	defer c.mu.Unlock()
	out := Counts{Calls: maps.Clone(c.calls), Served: c.served, Oldest: c.oldest, Applied: maps.Clone(c.applied)}
	for _, n := range c.perSec {
		out.Busiest = max(out.Busiest, n)
	}
	for _, r := range c.buoys {
		out.Oldest = max(out.Oldest, time.Since(r.seen))
	}

	return out
}

// Reset begins to count.
func (c *Cloud) Reset() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.reset()
	for _, r := range c.buoys {
		r.seen = time.Now()
	}
}

func (c *Cloud) reset() {
	c.served = 0
	c.calls, c.perSec, c.applied, c.oldest = map[string]int{}, map[int64]int{}, map[int64]time.Time{}, 0
}
