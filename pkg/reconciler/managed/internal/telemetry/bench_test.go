package telemetry

import (
	"context"
	"testing"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/pkg/resource/fake"
)

// steady records a pass without changes.
func steady(ctx context.Context, r *Recorder, o *Object, mg *fake.Managed) {
	ctx, pass := r.Begin(ctx, o, mg)
	_, connect := r.Step(ctx, Connect)
	connect.End(nil)
	_, observe := r.Step(ctx, Observe)
	observe.End(nil)
	r.Compared(o, mg, Same)
	r.Seen(o, mg)
	pass.End("kept", nil)
}

// TestASteadyPassAllocatesNothing verifies that recording a steady pass does not allocate: a process with 100,000
// objects pays for each of them in each poll interval.
func TestASteadyPassAllocatesNothing(t *testing.T) {
	h, mg, o := newRecorderWorld(t), made("1", commonv1.Available(), synced()), &Object{}
	steady(t.Context(), h.Recorder, o, mg)
	if n := testing.AllocsPerRun(100, func() { steady(t.Context(), h.Recorder, o, mg) }); n > 0 {
		t.Errorf("a steady pass without spans allocates %g times, want never", n)
	}
}

func BenchmarkSteadyPass(b *testing.B) {
	for name, o := range map[string]func(*Options){
		"Untraced": func(*Options) {},
		"Traced":   traced(&recording{}),
	} {
		b.Run(name, func(b *testing.B) {
			h, mg, object := newRecorderWorld(b, o), made("1", commonv1.Available(), synced()), &Object{}
			b.ReportAllocs()
			for b.Loop() {
				steady(b.Context(), h.Recorder, object, mg)
			}
		})
	}
}
