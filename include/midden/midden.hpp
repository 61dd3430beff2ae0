/* midden.hpp -- what a C++17 program can tell the heap profiler that may be watching it.
 * Runs: in any program, whether midden is there or not; any thread.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Header only, nothing to link: see midden.h.
 *
 *	#include <midden/midden.hpp>
 *
 *	void Parser::run()
 *	{
 *		midden::tag scope("Parser", "run");
 *		...
 *	} */
#ifndef MIDDEN_MIDDEN_HPP
#define MIDDEN_MIDDEN_HPP

#include <cstdint>
#include <string>

#include "midden.h"

namespace midden
{

/* ---- tags ------------------------------------------------------------------------------------ */

/* The calling thread is in a tag as long as this lives; an exception leaves it too. */
class [[nodiscard]] tag
{
      public:
	explicit tag(const char *name) noexcept : handle_(midden_tag_push(name))
	{
	}

	explicit tag(const std::string &name) noexcept : tag(name.c_str())
	{
	}

	tag(const char *class_name, const char *function) noexcept
	    : handle_(midden_tag_push_method(class_name, function))
	{
	}

	~tag()
	{
		midden_tag_leave(handle_);
	}

	tag(const tag &) = delete;
	tag &operator=(const tag &) = delete;

      private:
	std::uint64_t handle_;
};

/* Which tag a task was made in: taken where it is made, adopted where it runs. */
class tag_context
{
      public:
	/* The calling thread's. */
	tag_context() noexcept : handle_(midden_tag_current())
	{
	}

	std::uint64_t handle() const noexcept
	{
		return handle_;
	}

      private:
	std::uint64_t handle_;
};

/* The calling thread is in another's tag as long as this lives. */
class [[nodiscard]] adopted_tag
{
      public:
	explicit adopted_tag(const tag_context &from) noexcept
	    : before_(midden_tag_adopt(from.handle()))
	{
	}

	~adopted_tag()
	{
		(void)midden_tag_adopt(before_);
	}

	adopted_tag(const adopted_tag &) = delete;
	adopted_tag &operator=(const adopted_tag &) = delete;

      private:
	std::uint64_t before_;
};

/* ---- control --------------------------------------------------------------------------------- */

/* Nothing is recorded as long as this lives, of the calling thread or of all; an exception ends it
 * too. Pauses nest: one inside another changes nothing. */
class [[nodiscard]] pause
{
      public:
	explicit pause(midden_scope scope = MIDDEN_THIS_THREAD) noexcept
	    : scope_(scope), stopped_(midden_is_started() && midden_stop(scope) == 0)
	{
	}

	~pause()
	{
		if (stopped_)
			(void)midden_start(scope_);
	}

	pause(const pause &) = delete;
	pause &operator=(const pause &) = delete;

      private:
	midden_scope scope_;
	bool stopped_;
};

/* Keeps what is live now, under a name. */
inline void snapshot(const std::string &name) noexcept
{
	midden_snapshot(name.c_str());
}

/* Figures start over from now. False if nothing is being recorded, as below. */
inline bool clear() noexcept
{
	return midden_clear() == 0;
}

/* What reports call the calling thread. */
inline bool name_thread(const std::string &name) noexcept
{
	return midden_name_thread(name.c_str()) == 0;
}

} // namespace midden

#endif
