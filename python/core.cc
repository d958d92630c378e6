/* SPDX-License-Identifier: Apache-2.0
 *
 * The extension tomostage._core: the objects of the C library as Python has them. Nothing is
 * decided here. Arrays come by DLPack or the buffer protocol and are used where they are;
 * descriptions of images are dictionaries; a function that fails raises tomostage.ChainError with
 * the records of its diag. What computes or reads releases the GIL.
 */
#include <atomic>
#include <csignal>
#include <memory>

#include "core.h"

/* ---- chains and plans ------------------------------------------------------------------------ */

struct Chain {
    struct ts_chain *chain = nullptr;
    nb::list arrays; /* kept as long as the chain */

    Chain(const std::string &text, const std::string &name,
          const std::optional<std::string> &folder)
    {
        Diag diag;
        diag.check(ts_chain_parse(text.data(), text.size(), name.c_str(),
                                  folder ? folder->c_str() : nullptr, &chain, diag));
    }
    Chain(const Chain &) = delete;
    ~Chain()
    {
        ts_chain_destroy(chain);
    }

    void set(const std::string &assignment)
    {
        Diag diag;
        diag.check(ts_chain_set(chain, assignment.c_str(), diag));
    }

    void set_input(const std::string &path)
    {
        Diag diag;
        diag.check(ts_chain_set_input(chain, path.c_str(), diag));
    }

    void set_output(const std::string &path)
    {
        Diag diag;
        diag.check(ts_chain_set_output(chain, path.c_str(), diag));
    }

    void set_array(const std::string &name, const Array &array, const About &about)
    {
        Diag diag;
        struct ts_array values = array.as_array(about.image.rank);
        if (values.rank + 1 == about.image.rank)
            add_slice_axis(values);
        diag.check(ts_chain_set_array(chain, name.c_str(), &values, &about.image, diag));
        arrays.append(nb::cast(array, nb::rv_policy::copy));
    }

    std::string text(bool one_line) const
    {
        std::string text(ts_chain_text(chain, one_line, nullptr, 0), '\0');
        ts_chain_text(chain, one_line, text.data(), text.size() + 1);
        return text;
    }
};

/* Hands the events of a run to a function of Python's. If it raises, the run is stopped, and the
 * error is raised where the run was begun. */
struct Listener {
    nb::object function;
    std::optional<nb::python_error> raised;
    struct ts_run *run = nullptr; /* which is at work; NULL: none */

    static void listen(void *user, const struct ts_event *event)
    {
        static const char *const kinds[] = {"started", "progress", "finished", "iteration"};
        Listener *self = (Listener *)user;
        nb::gil_scoped_acquire held;
        if (self->raised)
            return;
        try {
            nb::object make = nb::module_::import_("tomostage.progress").attr("Event");
            self->function(make(kinds[event->kind], event->pass, event->n_passes,
                                event->slices_done, event->n_slices, event->seconds,
                                event->bytes_per_second, event->seconds_left,
                                text_or_none(event->search), text_or_none(event->stage),
                                event->iteration, event->n_iterations, event->residual));
        } catch (nb::python_error &error) {
            self->raised.emplace(std::move(error));
            if (self->run)
                ts_run_stop(self->run);
        }
    }

    void check()
    {
        if (!raised)
            return;
        nb::python_error error = std::move(*raised);
        raised.reset();
        throw error;
    }
};

struct Plan {
    struct ts_plan *plan = nullptr;
    Diag diag;
    Listener listener;

    Plan(Chain &chain, const std::string &device, int threads, int64_t memory_bytes, bool force,
         nb::object progress)
    {
        listener.function = progress;
        struct ts_options options = {};
        if (!progress.is_none()) {
            options.on_event = Listener::listen;
            options.user = &listener;
        }
        options.size = sizeof options;
        options.device = device.c_str();
        options.threads = threads;
        options.memory_bytes = memory_bytes;
        options.force = force;
        options.arrays = 1; // a run hands every image to Python
        enum ts_status status;
        {
            nb::gil_scoped_release released;
            status = ts_chain_search(chain.chain, &options, diag);
            if (status == TS_OK)
                status = ts_plan_create(chain.chain, &options, &plan, diag);
        }
        listener.check();
        diag.check(status);
    }
    Plan(const Plan &) = delete;
    ~Plan()
    {
        ts_plan_destroy(plan);
    }

    std::string text(bool json) const
    {
        std::string text(ts_plan_text(plan, json, nullptr, 0), '\0');
        ts_plan_text(plan, json, text.data(), text.size() + 1);
        return text;
    }

    std::vector<std::string> images() const
    {
        std::vector<std::string> names;
        while (const char *name = ts_plan_image_name(plan, names.size()))
            names.push_back(name);
        return names;
    }

    struct ts_image image(const std::string &name) const
    {
        Diag own;
        struct ts_image image;
        own.check(ts_plan_describe(plan, name.c_str(), &image, own));
        return image;
    }
};

/* ---- runs ------------------------------------------------------------------------------------ */

/* Ctrl-C while the main thread runs a chain: the run is asked to stop, and Python's own handler
 * notes the signal. */
static std::atomic<struct ts_run *> interruptible;
static struct sigaction pythons;

static void interrupt(int signal, siginfo_t *info, void *context)
{
    if (struct ts_run *run = interruptible)
        ts_run_stop(run);
    if (pythons.sa_flags & SA_SIGINFO)
        pythons.sa_sigaction(signal, info, context);
    else
        pythons.sa_handler(signal);
}

class Interruptible
{
    bool installed = false;

  public:
    Interruptible(struct ts_run *run, bool main_thread)
    {
        struct sigaction ours = {};
        if (!main_thread || interruptible || sigaction(SIGINT, nullptr, &pythons) != 0 ||
            (!(pythons.sa_flags & SA_SIGINFO) &&
             (pythons.sa_handler == SIG_DFL || pythons.sa_handler == SIG_IGN)))
            return;
        ours.sa_sigaction = interrupt;
        ours.sa_flags = SA_SIGINFO | SA_RESTART;
        interruptible = run;
        installed = sigaction(SIGINT, &ours, nullptr) == 0;
    }
    Interruptible(const Interruptible &) = delete;
    ~Interruptible()
    {
        if (installed)
            sigaction(SIGINT, &pythons, nullptr);
        if (installed)
            interruptible = nullptr;
    }
};

/* An image whose invalid pixels the caller wants to know: values and one byte for each pixel. */
struct Masked {
    unsigned char *values, *valid;
};

static enum ts_status take_masked(void *user, const struct ts_image *slab)
{
    const Masked *to = (const Masked *)user;
    const size_t pixels = (size_t)(slab->axes[1].n * slab->axes[2].n), words = valid_words(*slab);
    const size_t size = pixels * dtype_bytes[slab->dtype], n = (size_t)slab->axes[0].n;
    memcpy(to->values + (size_t)slab->z_first * size, slab->data, n * size);
    for (size_t z = 0; z < n; z++)
        for (size_t i = 0; i < pixels; i++)
            to->valid[((size_t)slab->z_first + z) * pixels + i] =
                !slab->valid || (slab->valid[z * words + i / 64] >> i % 64 & 1);
    return TS_OK;
}

struct Run {
    struct ts_run *run = nullptr;
    Listener &listener;
    std::vector<std::unique_ptr<Masked>> masked;
    nb::list arrays; /* kept as long as the run */

    explicit Run(Plan &plan) : listener(plan.listener)
    {
        Diag diag;
        diag.check(ts_run_create(plan.plan, &run, diag));
    }
    Run(const Run &) = delete;
    ~Run()
    {
        ts_run_destroy(run);
    }

    void set_array(const std::string &name, const Array &array, int rank)
    {
        Diag diag;
        struct ts_array values = array.as_array(rank);
        if (values.rank + 1 == rank)
            add_slice_axis(values);
        diag.check(ts_run_set_array(run, name.c_str(), &values, diag));
        arrays.append(nb::cast(array, nb::rv_policy::copy));
    }

    void set_masked(const std::string &name, const Array &values, const Array &valid)
    {
        Diag diag;
        masked.push_back(std::make_unique<Masked>(
            Masked{(unsigned char *)values.owner.data(), (unsigned char *)valid.owner.data()}));
        diag.check(ts_run_set_take(run, name.c_str(), take_masked, masked.back().get(), diag));
        arrays.append(nb::cast(values, nb::rv_policy::copy));
        arrays.append(nb::cast(valid, nb::rv_policy::copy));
    }

    /* Returns the records of warnings and notes. */
    nb::list execute(bool main_thread)
    {
        Diag diag;
        enum ts_status status;
        {
            nb::gil_scoped_release released;
            Interruptible here(run, main_thread);
            listener.run = run;
            status = ts_run_execute(run, diag);
            listener.run = nullptr;
        }
        listener.check();
        if (PyErr_CheckSignals() != 0)
            throw nb::python_error();
        diag.check(status);
        return diag.records();
    }

    struct ts_image image(const std::string &name) const
    {
        Diag own;
        struct ts_image image;
        own.check(ts_run_describe(run, name.c_str(), &image, own));
        return image;
    }

    /* Returns the tables by name: their descriptions and their bytes. */
    nb::dict tables() const
    {
        Diag diag;
        nb::dict tables;
        for (size_t i = 0; const char *name = ts_run_table_name(run, i); i++) {
            struct ts_image table;
            diag.check(ts_run_table(run, name, &table, diag));
            size_t size = dtype_bytes[table.dtype];
            for (int d = 0; d < table.rank; d++)
                size *= (size_t)table.axes[d].n;
            tables[name] = nb::make_tuple(dict_of(table), nb::bytes(table.data, size));
        }
        return tables;
    }
};

NB_MODULE(_core, m)
{
    nb::set_leak_warnings(
        false); // what others keep until the process ends is no leak of this module
    m.doc() = "The objects of libtomostage. Use the package tomostage, which is made of them.";
    m.def("version", ts_version, "The version of libtomostage.");
    nb::class_<Array>(m, "Array", "An array in memory that is used where it is.")
        .def(nb::init<nb::ndarray<nb::ro>, uintptr_t>(), "array"_a, "stream"_a = 0);
    nb::class_<About>(m, "About", "What the values of an array are.")
        .def(nb::init<nb::dict>(), "description"_a)
        .def("set_valid", &About::set_valid, "valid"_a);
    nb::class_<Chain>(m, "Chain", "A chain that was read.")
        .def(nb::init<std::string, std::string, std::optional<std::string>>(), "text"_a, "name"_a,
             "folder"_a = nb::none())
        .def("set", &Chain::set, "assignment"_a)
        .def("set_input", &Chain::set_input, "path"_a)
        .def("set_output", &Chain::set_output, "path"_a)
        .def("set_array", &Chain::set_array, "name"_a, "array"_a, "about"_a)
        .def("text", &Chain::text, "one_line"_a);
    nb::class_<Plan>(m, "Plan", "A chain of which all is worked out.")
        .def(nb::init<Chain &, std::string, int, int64_t, bool, nb::object>(), "chain"_a,
             "device"_a, "threads"_a, "memory_bytes"_a, "force"_a, "progress"_a.none(),
             nb::keep_alive<1, 2>())
        .def("text", &Plan::text, "json"_a)
        .def("images", &Plan::images)
        .def(
            "describe",
            [](const Plan &plan, const std::string &name) { return dict_of(plan.image(name)); },
            "name"_a)
        .def("records", [](const Plan &plan) { return plan.diag.records(); });
    nb::class_<Run>(m, "Run", "A plan that is carried out.")
        .def(nb::init<Plan &>(), "plan"_a, nb::keep_alive<1, 2>())
        .def("set_array", &Run::set_array, "name"_a, "array"_a, "rank"_a)
        .def("set_masked", &Run::set_masked, "name"_a, "values"_a, "valid"_a)
        .def("execute", &Run::execute, "main_thread"_a)
        .def(
            "describe",
            [](const Run &run, const std::string &name) { return dict_of(run.image(name)); },
            "name"_a)
        .def("tables", &Run::tables);
    bind_projector(m);
}
