package wait

import (
	"fmt"
	"runtime"
	"slices"
	"sync"
	"time"
)

// A pace is what a machine showed.
type pace struct {
	slowness   float64 // how many times longer than on the reference a piece of work took; 1 at least
	processors int
}

// The reference has four processors, of which each does a chunk in so much time. That is
// twice what an idle one of 2024 needs.
const (
	referenceProcessors = 4
	referenceChunk      = 40 * time.Microsecond
)

// How long a test may wait on the reference, and how many times longer at most elsewhere.
const (
	leastBudget = 3 * time.Minute
	mostFactor  = 10
)

// scale returns how long that takes on such a machine which takes d on the reference.
func (p pace) scale(d time.Duration) time.Duration {
	few := max(1, referenceProcessors/float64(max(1, p.processors)))

	return time.Duration(min(max(1, p.slowness)*few, mostFactor) * float64(d))
}

// A meter measures once.
type meter struct {
	measure func() (pace, time.Duration)

	mu    sync.Mutex
	shown *pace
}

// pace returns what was measured. By a clock that stands still, as in a bubble of
// synctest, nothing is: that is done again the next time.
func (m *meter) pace() pace {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.shown != nil {
		return *m.shown
	}
	p, took := m.measure()
	if took > 0 {
		m.shown = &p
	}

	return p
}

// String says it for who reads why a test failed.
func (p pace) String() string {
	return fmt.Sprintf("at its start, this process found %d processors, %.1f times slower than the reference",
		p.processors, p.slowness)
}

// What is measured: every processor has to do so many chunks, and gives up after a while.
// All do it at once, or what else the machine does would find room on another one.
const (
	chunks      = 200
	chunkSize   = 1000
	mostMeasure = 20 * time.Millisecond
)

// measure does a piece of work and tells what it showed, and what it took.
func measure() (pace, time.Duration) {
	var (
		processors = runtime.GOMAXPROCS(0)
		done       = make([]int, processors)
		began      = time.Now()
		workers    sync.WaitGroup
	)
	for i := range done {
		workers.Go(func() {
			numbers := make([]uint64, chunkSize)
			for done[i] < chunks && (done[i] == 0 || time.Since(began) < mostMeasure) {
				chunk(numbers)
				done[i]++
			}
		})
	}
	workers.Wait()

	took := time.Since(began)

	return judge(done, took), took
}

// judge says how slow processors are that have done so many chunks each in that time.
func judge(done []int, took time.Duration) pace {
	sum := 0
	for _, n := range done {
		sum += n
	}
	expected := float64(referenceChunk) * float64(sum) / float64(len(done))

	return pace{slowness: max(1, float64(took)/expected), processors: len(done)}
}

// chunk is ordinary work of Go, which is slower under the race detector, as tests are.
func chunk(numbers []uint64) {
	x := uint64(88172645463325252)
	for i := range numbers {
		x ^= x << 13
		x ^= x >> 7
		x ^= x << 17
		numbers[i] = x
	}
	slices.Sort(numbers)
}
