package docs

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/moorage-dev/moorage/internal/docs/tutorial/objectstore"
)

// foreignText is text of another server at the URL of the object store. No error may show it.
const foreignText = "text-of-another-server"

// respond responds with a body of a media type.
func respond(code int, media, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", media)
		w.WriteHeader(code)
		_, _ = w.Write([]byte(body))
	}
}

// callTutorialClient returns the errors of the tutorial's client for a response to Get and to Create.
func callTutorialClient(t *testing.T, response http.HandlerFunc) (getErr, createErr error) {
	t.Helper()
	server := httptest.NewServer(response)
	defer server.Close()
	client := objectstore.Client{URL: server.URL}
	_, getErr = client.Get(t.Context(), "logs")
	return getErr, client.Create(t.Context(), objectstore.Bucket{Name: "logs"})
}

// TestTutorialClientTrustsOnlyItsAPI checks the client that authors copy: only a response of the API itself says that
// a bucket does not exist, that a name is in use, or that a request is invalid. A response of another server says
// nothing about a bucket, and no error shows its text.
func TestTutorialClientTrustsOnlyItsAPI(t *testing.T) {
	for code, own := range map[int]error{
		http.StatusNotFound: objectstore.ErrNotFound, http.StatusConflict: objectstore.ErrConflict,
		http.StatusUnprocessableEntity: objectstore.ErrInvalid,
		http.StatusForbidden:           nil, http.StatusRequestTimeout: nil,
		http.StatusInternalServerError: nil, http.StatusBadGateway: nil,
	} {
		for server, tc := range map[string]struct {
			response http.HandlerFunc
			want     error // nil: one without a meaning of its own
		}{
			"the API": {respond(code, "application/json; charset=utf-8", `{"error": "a reason"}`), own},
			"a proxy": {respond(code, "text/html", "<html>"+foreignText+"</html>"), objectstore.ErrUnavailable},
			"another service": {respond(code, "application/json", `{"message": "`+foreignText+`"}`),
				objectstore.ErrUnavailable},
			"plain text": {respond(code, "text/plain", `{"error": "`+foreignText+`"}`),
				objectstore.ErrUnavailable},
		} {
			getErr, createErr := callTutorialClient(t, tc.response)
			for _, err := range []error{getErr, createErr} {
				bad := err == nil || strings.Contains(err.Error(), foreignText)
				known := errors.Is(err, objectstore.ErrNotFound) || errors.Is(err, objectstore.ErrConflict) ||
					errors.Is(err, objectstore.ErrInvalid) || errors.Is(err, objectstore.ErrUnavailable)
				if bad || known == (tc.want == nil) || known && !errors.Is(err, tc.want) {
					t.Errorf("%d by %s: %v, want %v", code, server, err, tc.want)
				}
			}
		}
	}
}

// TestTutorialClientLimitsErrorText checks that the server cannot make an error arbitrarily long.
func TestTutorialClientLimitsErrorText(t *testing.T) {
	long := `{"error": "` + strings.Repeat("x", 1<<12) + `"}`
	getErr, _ := callTutorialClient(t, respond(http.StatusForbidden, "application/json", long))
	if size := len(fmt.Sprint(getErr)); size > 1<<9 {
		t.Errorf("the error has %d bytes", size)
	}
}

// TestTutorialClientRejectsHTML checks that a login page, which has the status 200, is not read as a bucket.
func TestTutorialClientRejectsHTML(t *testing.T) {
	getErr, _ := callTutorialClient(t, respond(http.StatusOK, "text/html", "<html>"+foreignText+"</html>"))
	if !errors.Is(getErr, objectstore.ErrUnavailable) {
		t.Errorf("an HTML page is read as a bucket: %v", getErr)
	}
}

// TestTutorialClientFollowsNoRedirect checks that the target of a redirect is neither trusted nor sent the token.
func TestTutorialClientFollowsNoRedirect(t *testing.T) {
	for _, code := range []int{http.StatusMovedPermanently, http.StatusSeeOther, http.StatusTemporaryRedirect} {
		followed := 0
		getErr, createErr := callTutorialClient(t, func(w http.ResponseWriter, r *http.Request) {
			if strings.HasPrefix(r.URL.Path, "/buckets") {
				http.Redirect(w, r, "/elsewhere", code)
				return
			}
			followed++
			respond(http.StatusOK, "application/json", "{}")(w, r)
		})
		unavailable := errors.Is(getErr, objectstore.ErrUnavailable) && errors.Is(createErr, objectstore.ErrUnavailable)
		if followed != 0 || !unavailable {
			t.Errorf("%d: followed %d times; %v, %v", code, followed, getErr, createErr)
		}
	}
}

// TestTutorialClientEscapesNames checks that an external name, which users choose, leads to no other path than that of
// a bucket.
func TestTutorialClientEscapesNames(t *testing.T) {
	var path string
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		path = r.URL.EscapedPath()
	}))
	defer server.Close()
	_ = objectstore.Client{URL: server.URL}.Delete(t.Context(), "../users/7?all")
	if want := "/buckets/..%2Fusers%2F7%3Fall"; path != want {
		t.Errorf("the path is %s, want %s", path, want)
	}
}
