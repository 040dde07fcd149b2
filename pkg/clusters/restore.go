package clusters

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	kerrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/rest"

	"github.com/moorage-dev/moorage/internal/freshness"
	"github.com/moorage-dev/moorage/pkg/errors"
)

// A Restore describes a detected restore of an API server to an earlier state, or its replacement by another API
// server. The detection compares versions: the version of a resource is lower than before. For a lease that ended
// because of a Restore, context.Cause of Lease.Context is the Restore. A Restore wraps ErrReplaced.
type Restore struct {
	// Resource is the watched resource.
	Resource schema.GroupResource

	// Known is the version from which the watch resumed.
	Known string

	// Answered is the version that the API server has returned. It is lower than Known.
	Answered string
}

// Error describes the restore.
func (r Restore) Error() string {
	return fmt.Sprintf("the API server was restored to an earlier state, or replaced by another one: "+
		"the version of %s was %s and is %s now",
		r.Resource, r.Known, r.Answered)
}

// Unwrap returns ErrReplaced.
func (r Restore) Unwrap() error { return ErrReplaced }

// Of returns the group and the resource as an argument for a controller.RestoreDetector. The field Kind contains the
// resource, because the kind is unknown.
func (r Restore) Of() schema.GroupKind {
	return schema.GroupKind{Group: r.Resource.Group, Kind: r.Resource.Resource}
}

// OnRestored calls the function notify when the API server of a configuration was restored to an earlier state while
// informers run. It covers informers whose clients are made from the configuration after the call of OnRestored.
// Without a new list, such an informer would receive no events and no error until the versions of the API server exceed
// the versions of the lost state. A Cache calls OnRestored for its connections, and replaces them after a restore.
//
// A restore ends the watches. Before a watch resumes from a version, the transport lists one object of the resource, as
// metadata only, to read the current version. It sends no such request for the first watch of each path. If the current
// version is lower than the version of the watch, the transport calls notify. It then responds to the watch that its
// version is too old, so the informer lists again. If the list fails, for instance without the permission to list, the
// watch resumes without a check.
//
// The function notify may be called concurrently, once for each resumed watch. It must not block.
func OnRestored(config *rest.Config, notify func(Restore)) {
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return &watchTransport{next: next, notify: notify, watched: map[string]struct{}{}}
	})
}

const (
	versionTimeout = 10 * time.Second
	maxListSize    = 1 << 20 // bytes of a response
)

// A watchTransport reads the version of a resource before a watch resumes.
type watchTransport struct {
	next   http.RoundTripper
	notify func(Restore)

	mu      sync.Mutex
	watched map[string]struct{} // paths of former watches
}

var _ utilnet.RoundTripperWrapper = &watchTransport{}

// RoundTrip sends a request.
func (w *watchTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	known, watches := watchVersion(r)
	if !watches || !w.resumes(r.URL.Path) || known == "" {
		return w.next.RoundTrip(r)
	}
	answered, err := w.readVersion(r)
	if err != nil || !freshness.IsOlder(answered, known) {
		return w.next.RoundTrip(r)
	}
	w.notify(Restore{Resource: resourceOf(r.URL.Path), Known: known, Answered: answered})

	return expiredResponse(r)
}

// WrappedRoundTripper returns the next transport, so that idle connections can be closed.
func (w *watchTransport) WrappedRoundTripper() http.RoundTripper { return w.next }

// resumes reports whether a path was watched before. The first watch starts from the
// current state, or from a version that was just listed.
func (w *watchTransport) resumes(path string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	_, watched := w.watched[path]
	w.watched[path] = struct{}{}

	return watched
}

// watchVersion reports whether a request is a watch. It returns the version from which the watch resumes, or "" if the
// watch starts from the current state.
func watchVersion(r *http.Request) (version string, watches bool) {
	if r.Method != http.MethodGet || !strings.Contains(r.URL.RawQuery, "watch=") { // most requests
		return "", false
	}
	query := r.URL.Query()
	if watch := query.Get("watch"); watch != "true" && watch != "1" {
		return "", false
	}
	if version = query.Get("resourceVersion"); version == "0" {
		return "", true
	}

	return version, true
}

// readVersion lists one object of the watched resource, and returns the version of the list.
func (w *watchTransport) readVersion(watch *http.Request) (string, error) {
	ctx, cancel := context.WithTimeout(watch.Context(), versionTimeout)
	defer cancel()
	list := watch.Clone(ctx)
	query := watch.URL.Query()
	for _, name := range []string{
		"watch", "resourceVersion", "resourceVersionMatch", "sendInitialEvents", "allowWatchBookmarks", "timeoutSeconds",
	} {
		query.Del(name)
	}
	query.Set("limit", "1")
	list.URL.RawQuery = query.Encode()
	list.Header.Del("Accept-Encoding") // the transport sets one, and decodes the response
	list.Header.Set("Accept", "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json")
	answer, err := w.next.RoundTrip(list)
	if err != nil {
		return "", err
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(io.LimitReader(answer.Body, maxListSize))
	if err != nil {
		return "", err
	}
	if answer.StatusCode != http.StatusOK {
		return "", errors.New(answer.Status)
	}
	listed := metav1.PartialObjectMetadataList{}
	err = json.Unmarshal(body, &listed)

	return listed.ResourceVersion, err
}

// resourceOf returns the resource in the path of a list.
func resourceOf(path string) schema.GroupResource {
	of := schema.GroupResource{Resource: path[strings.LastIndex(path, "/")+1:]}
	if _, rest, ok := strings.Cut(path, "/apis/"); ok {
		of.Group, _, _ = strings.Cut(rest, "/")
	}

	return of
}

// expiredResponse returns the response to a watch from a version that is too old.
func expiredResponse(r *http.Request) (*http.Response, error) {
	status := kerrors.NewResourceExpired("the API server was restored to an earlier state: list again").Status()
	status.Kind, status.APIVersion = "Status", "v1"
	body, err := json.Marshal(status)
	if err != nil {
		return nil, err
	}

	return &http.Response{
		Status: fmt.Sprint(status.Code, " ", http.StatusText(int(status.Code))), StatusCode: int(status.Code),
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Header: http.Header{"Content-Type": {"application/json"}},
		Body: io.NopCloser(bytes.NewReader(body)), ContentLength: int64(len(body)), Request: r,
	}, nil
}
