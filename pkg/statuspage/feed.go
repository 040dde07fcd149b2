package statuspage

import (
	"context"
	"sync"
	"time"
)

// Times of the feed.
const (
	snapshotInterval  = time.Second
	heartbeatInterval = 15 * time.Second
	keepSnapshot      = 10 * time.Second // after the last look
)

// A feed has the fleet that all pages share. It reads the fleet at most once per second, and only while a page asks. It
// is safe for concurrent use.
type feed struct {
	read func(context.Context) *fleet

	reading sync.Mutex // held while the fleet is read
	last    *fleet
	lastAt  time.Time
	drop    *time.Timer
	reads   int

	mu          sync.Mutex
	subscribers map[chan string]struct{}
	stop        context.CancelFunc // of the goroutine that watches for changes
}

func newFeed(read func(context.Context) *fleet) *feed {
	return &feed{read: read, subscribers: map[chan string]struct{}{}}
}

// current returns the fleet, which is at most a second old.
func (f *feed) current(ctx context.Context) *fleet {
	f.reading.Lock()
	defer f.reading.Unlock()
	if now := time.Now(); f.last == nil || now.Sub(f.lastAt) >= snapshotInterval {
		// One who closes the page does not cancel what others wait for.
		f.last, f.lastAt = f.read(context.WithoutCancel(ctx)), now
		f.reads++
	}
	if f.drop != nil {
		f.drop.Stop()
	}
	f.drop = time.AfterFunc(keepSnapshot, f.forget)

	return f.last
}

// forget drops the fleet, which refers to objects that the cache may have replaced.
func (f *feed) forget() {
	f.reading.Lock()
	defer f.reading.Unlock()
	if time.Since(f.lastAt) >= keepSnapshot {
		f.last = nil
	}
}

// subscribe returns a channel of the versions of the fleet that follow, and a function that ends the subscription. The
// first subscriber starts a goroutine, which ends with the last one.
func (f *feed) subscribe() (versions <-chan string, end func()) {
	c := make(chan string, 1)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.subscribers[c] = struct{}{}
	if f.stop == nil {
		ctx, stop := context.WithCancel(context.Background())
		f.stop = stop
		go f.watch(ctx)
	}

	return c, func() { f.unsubscribe(c) }
}

func (f *feed) unsubscribe(c chan string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if delete(f.subscribers, c); len(f.subscribers) == 0 && f.stop != nil {
		f.stop()
		f.stop = nil
	}
}

// watch looks for changes until ctx ends.
func (f *feed) watch(ctx context.Context) {
	tick := time.NewTicker(snapshotInterval)
	defer tick.Stop()
	version := f.current(ctx).version
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if now := f.current(ctx).version; now != version {
			version = now
			f.publish(ctx, now)
		}
	}
}

// publish sends a version to all subscribers. One that is slow gets the newest version only.
func (f *feed) publish(ctx context.Context, version string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if ctx.Err() != nil {
		return
	}
	for c := range f.subscribers {
		select {
		case <-c:
		default:
		}
		c <- version
	}
}
