package serviceprovider

import (
	"testing"

	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrlevent "sigs.k8s.io/controller-runtime/pkg/event"

	"github.com/moorage-dev/moorage/pkg/errors"
)

// wrongCopyOfConfig is a configuration whose DeepCopyObject returns another type.
type wrongCopyOfConfig struct{ FooConfig }

func (s *wrongCopyOfConfig) DeepCopyObject() runtime.Object { return s.FooConfig.DeepCopyObject() }

// TestChannelConfig verifies that the configuration received last is used, and only for deletions
// after it was removed.
func TestChannelConfig(t *testing.T) {
	r := &channelConfig[*Foo, *FooConfig]{}
	service := &APIReconciler[*Foo, *FooConfig]{configs: r, newObject: newFoo}
	config := &FooConfig{Image: "v1"}
	for _, step := range []struct {
		reason        string
		sent          client.Object
		err           error
		image         string // of what comes along; empty: nothing
		currentAbsent bool   // for a watcher
	}{
		{"it is there", config, nil, "v1", false},
		{"another one", &FooConfig{Image: "v2"}, nil, "v2", false},
		{"it was taken back", nil, ErrConfigTerminating, "v2", true},
		{"by a pointer to nothing", (*FooConfig)(nil), ErrConfigTerminating, "v2", true},
		{"it is there again", config, nil, "v1", false},
		{"what is no configuration takes it back", &Foo{}, ErrConfigTerminating, "v1", true},
	} {
		if step.sent == nil {
			r.receive(ctrlevent.GenericEvent{})
		} else {
			r.receive(ctrlevent.GenericEvent{Object: step.sent})
		}
		got, err := r.ConfigFor(t.Context(), nil)
		if !errors.Is(err, step.err) || got.Image != step.image {
			t.Errorf("%s: want %q and %v, got %q and %v", step.reason, step.image, step.err, got.Image, err)
		}
		if current := service.currentConfig(t.Context()); (current == nil) != step.currentAbsent {
			t.Errorf("%s: a watcher is told %v", step.reason, current)
		}
		if got == config {
			t.Errorf("%s: want a copy of what was sent", step.reason)
		}
	}

	never := &channelConfig[*Foo, *FooConfig]{}
	if c, err := never.ConfigFor(t.Context(), nil); !errors.Is(err, ErrConfigNotLoaded) || c != nil {
		t.Errorf("nothing came yet: got %v and %v", err, c)
	}
	never.receive(ctrlevent.GenericEvent{})
	if c, err := never.ConfigFor(t.Context(), nil); !errors.Is(err, ErrConfigNotFound) || c != nil {
		t.Errorf("it is known that there is none: got %v and %v", err, c)
	}

	others := &channelConfig[*Foo, *wrongCopyOfConfig]{}
	others.receive(ctrlevent.GenericEvent{Object: &wrongCopyOfConfig{}})
	if _, err := others.ConfigFor(t.Context(), nil); !errors.Is(err, ErrConfigNotLoaded) {
		t.Errorf("what cannot be copied is not kept: got %v", err)
	}
	if s := r.Source(nil); s != nil {
		t.Errorf("want no source besides the channel, got %v", s)
	}
}
