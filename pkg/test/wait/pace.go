package wait

import (
	"fmt"
	"runtime"
	"slices"
	"sync"
	"time"
)

// A pace is the measured speed of a machine.
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

// scale converts a duration on the reference to one on a machine with this pace.
func (p pace) scale(d time.Duration) time.Duration {
	few := max(1, referenceProcessors/float64(max(1, p.processors)))

	return time.Duration(min(max(1, p.slowness)*few, mostFactor) * float64(d))
}

// A meter measures the pace once.
type meter struct {
	measure func() (pace, time.Duration)

	mu    sync.Mutex
	shown *pace
}

// pace returns the measured pace. If the clock does not advance, as in a bubble of synctest, it measures again at the
// next call.
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

// String returns the pace as text for the failure message of a test.
func (p pace) String() string {
	return fmt.Sprintf("at its start, this process found %d processors, %.1f times slower than the reference",
		p.processors, p.slowness)
}

// The benchmark: every processor does that many chunks, and stops after a while. All do so at the same time, so that
// other load on the machine slows the benchmark down.
const (
	chunks      = 200
	chunkSize   = 1000
	mostMeasure = 20 * time.Millisecond
)

// measure runs the benchmark, and returns the pace and the duration.
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

// judge returns the pace of processors that have done that many chunks each in that time.
func judge(done []int, took time.Duration) pace {
	sum := 0
	for _, n := range done {
		sum += n
	}
	expected := float64(referenceChunk) * float64(sum) / float64(len(done))

	return pace{slowness: max(1, float64(took)/expected), processors: len(done)}
}

// chunk is ordinary Go code, which the race detector slows down like the code of tests.
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
