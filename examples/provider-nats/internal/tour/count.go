package tour

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/moorage-dev/moorage/examples/provider-nats/apis/v1alpha1"
	"github.com/moorage-dev/moorage/examples/provider-nats/internal/provider"
	"github.com/moorage-dev/moorage/pkg/devcluster"
	"github.com/moorage-dev/moorage/pkg/errors"
)

// A tally is how many requests the provider has sent, as the API server counts them.
type tally struct {
	objects int // for its own kinds and their connection Secrets, without lists and watches
	configs int // for ProviderConfigs, which count their users
	events  int
	kinds   int // for the CRDs of its kinds, before it deletes in NATS
	others  int // credentials, the cluster's identity
	cutOff  int // not answered, because the provider was killed: it sends them again
}

func (a tally) since(b tally) tally {
	return tally{
		a.objects - b.objects, a.configs - b.configs, a.events - b.events, a.kinds - b.kinds, a.others - b.others,
		a.cutOff - b.cutOff,
	}
}

func (a tally) String() string {
	text := fmt.Sprintf("%s for its objects and %s", plural(a.objects, "request"), plural(a.events, "event"))
	if a.configs > 0 {
		text += fmt.Sprintf(", %d to keep and count what uses the ProviderConfig", a.configs)
	}

	if a.kinds > 0 {
		text += fmt.Sprintf(", %d to see that no kind is being deleted", a.kinds)
	}

	if a.others > 0 {
		text += fmt.Sprintf(", and %d to identify the cluster", a.others)
	}

	if a.cutOff > 0 {
		text += fmt.Sprintf("; %d more were cut off when it was killed", a.cutOff)
	}

	return text
}

func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}

	return fmt.Sprintf("%d %ss", n, what)
}

// sent returns the tally once the provider is quiet.
func (t *Tour) sent(ctx context.Context) (tally, error) {
	last := -1

	for {
		requests, err := t.env.Cluster.Requests(provider.Name)
		if err != nil {
			return tally{}, errors.Wrap(err, "cannot count the requests of the provider")
		}

		if len(requests) == last {
			return count(requests), nil
		}

		last = len(requests)

		if err := pause(ctx, t.o.Quiet); err != nil {
			return tally{}, errors.Wrap(err, "the provider does not become quiet")
		}
	}
}

func count(requests []devcluster.Request) tally {
	var n tally

	for _, r := range requests {
		switch {
		case slices.Contains([]string{"list", "watch"}, r.Verb), r.Resource == "":
		case r.Code == 0 || r.Code >= http.StatusInternalServerError:
			n.cutOff++
		case r.Resource == "events":
			n.events++
		case strings.HasSuffix(r.Resource, "providerconfigs"):
			n.configs++
		case r.Resource == "customresourcedefinitions":
			n.kinds++
		case r.Group == v1alpha1.Group, r.Resource == "secrets" && r.Verb != "get":
			n.objects++
		default:
			n.others++
		}
	}

	return n
}

// looks counts how often the provider observed each stream.
type looks struct {
	mu    sync.Mutex
	count map[string]int
}

func (l *looks) note(m *nats.Msg) {
	l.mu.Lock()
	defer l.mu.Unlock()

	if l.count == nil {
		l.count = map[string]int{}
	}

	l.count[m.Subject[strings.LastIndexByte(m.Subject, '.')+1:]]++
}

func (l *looks) of(stream string) int {
	l.mu.Lock()
	defer l.mu.Unlock()

	return l.count[stream]
}

func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}
